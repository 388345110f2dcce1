"""Metrics of a labelling (specification C1, C3, C4, C5, C8). Label -1 is a suppressed row."""

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from covey.reference.model import (
    Measure,
    Table,
    attribute_order,
    column_loss,
    ratio,
    record_loss,
    row_count,
    total_weight,
)

SUPPRESSED = -1


def groups_of(labels: Sequence[int]) -> list[list[int]]:
    """Return the rows of every group, by ascending label, without the suppressed rows."""
    if any(label < SUPPRESSED for label in labels):
        raise ValueError("a label is -1 (suppressed) or a group number")
    numbers = sorted(set(labels) - {SUPPRESSED})
    return [[row for row, label in enumerate(labels) if label == number] for number in numbers]


def suppressed_count(labels: Sequence[int]) -> int:
    """Return the number of suppressed rows."""
    return sum(1 for label in labels if label == SUPPRESSED)


def check_lengths(table: Table, labels: Sequence[int]) -> None:
    """Raise unless there is one label per row."""
    if table and row_count(table) != len(labels):
        raise ValueError("one label per row is needed")


def total_il(table: Table, labels: Sequence[int], measure: Measure = "height") -> float:
    """Return Total-IL (C1): |e| L(e) summed over groups, sum of weights per suppressed row."""
    check_lengths(table, labels)
    total = 0.0
    for group in groups_of(labels):
        total += len(group) * record_loss(table, group, measure)
    return total + suppressed_count(labels) * total_weight(table)


def per_column(
    table: Table, labels: Sequence[int], measure: Measure = "height"
) -> dict[str, float]:
    """Return the unweighted loss of each column summed over rows, 1 per suppressed row (C8)."""
    check_lengths(table, labels)
    losses: dict[str, float] = {}
    for name in attribute_order(table):
        total = 0.0
        for group in groups_of(labels):
            total += len(group) * column_loss(table[name], group, measure)
        losses[name] = total + suppressed_count(labels)
    return losses


def row_losses(
    table: Table, labels: Sequence[int], measure: Measure = "height"
) -> list[dict[str, float]]:
    """Return for each row the weighted loss of each of its cells, the weight where suppressed."""
    check_lengths(table, labels)
    losses = []
    for label in labels:
        group = [row for row, other in enumerate(labels) if other == label]
        lost = {
            name: 1.0 if label == SUPPRESSED else column_loss(table[name], group, measure)
            for name in attribute_order(table)
        }
        losses.append({name: table[name].weight * loss for name, loss in lost.items()})
    return losses


def worst_rows(
    table: Table, labels: Sequence[int], share: Fraction, measure: Measure = "height"
) -> tuple[int, float, float]:
    """Return how many rows that share is, rounded up, the most so many lose, and all others."""
    losses = sorted(sum(row.values()) for row in row_losses(table, labels, measure))
    many = math.ceil(share * len(labels))
    return many, sum(losses[::-1][:many]), sum(losses[::-1][many:])


def ncp(table: Table, labels: Sequence[int], measure: Measure = "ncp") -> float:
    """Return NCP summed over rows (C3): Total-IL with leaf counts for categorical columns."""
    return total_il(table, labels, measure)


def gcp(table: Table, labels: Sequence[int], measure: Measure = "ncp") -> float:
    """Return the weighted loss over n times the sum of the weights (C3, C8)."""
    return ratio(total_il(table, labels, measure), len(labels) * total_weight(table))


def precision(table: Table, labels: Sequence[int]) -> float:
    """Return 1 - Total-IL / (n * sum of weights), by height (C3, Wang Eq. 2)."""
    return 1.0 - gcp(table, labels, "height")


def discernibility(labels: Sequence[int]) -> int:
    """Return DM (C4): |e|^2 summed over groups, and n for each suppressed row."""
    squares = sum(len(group) ** 2 for group in groups_of(labels))
    return squares + len(labels) * suppressed_count(labels)


def average_class_size(labels: Sequence[int], k: int) -> float:
    """Return C_AVG = n / (#classes * k) (C4).

    Suppressed rows count in n, as written, but are no class. Rows without any class have no
    average class size: that is an error.
    """
    classes = len(groups_of(labels))
    if labels and not classes:
        raise ValueError("C_AVG is undefined when every row is suppressed")
    return ratio(len(labels), classes * k)


def classification_metric(labels: Sequence[int], classes: Sequence[int]) -> float:
    """Return CM (C5): the share of rows suppressed or not of the majority of their group."""
    if len(labels) != len(classes):
        raise ValueError("one class per row is needed")
    penalised = suppressed_count(labels)
    for group in groups_of(labels):
        counts = Counter(classes[row] for row in group)
        penalised += len(group) - max(counts.values())
    return ratio(penalised, len(labels))
