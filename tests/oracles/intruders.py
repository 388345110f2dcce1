"""What an intruder finds, by the definition: every known value against every released cell."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Known:
    """A column: how its cells are read, and what about means."""

    kind: str  # "number", "label" or "kept"
    step: float = 0.0  # beside which a number may lie
    wildcard: bool = False  # whether missing matches anything
    parent: Mapping[str, str] = field(default_factory=dict)
    others: frozenset[str] = frozenset()  # the labels of all people


def fits(column: Known, value: Any, cell: Any, *, about: bool) -> bool:
    if column.kind == "kept":
        step = column.step if about else 0
        if value is None:
            return True
        if cell is None or not step:
            return bool(cell == value)
        return bool(abs(cell - value) <= step)
    if value is None:
        return column.wildcard or cell in (None, "*")
    if cell is None:
        return column.wildcard
    if cell == "*":
        return True
    if column.kind == "number":
        low, high = ends(cell)
        step = column.step if about else 0
        return bool(low <= value + step and value - step <= high)
    candidates = {value} | ({o for o in column.others if one_digit(o, value)} if about else set())
    return any(is_under(column, one, cell) for one in candidates)


def ends(cell: str) -> tuple[float, float]:
    found = [float(each) for each in re.findall(r"-?[0-9.]+", cell)]
    return found[0], found[-1]


def one_digit(one: str, other: str) -> bool:
    different = [(a, b) for a, b in zip(one, other, strict=False) if a != b]
    return len(one) == len(other) and len(different) == 1 and "".join(different[0]).isdigit()


def is_under(column: Known, label: str, cell: str) -> bool:
    if cell.startswith("{"):
        return label in cell[1:-1].split(", ")
    while label != cell and label in column.parent:
        label = column.parent[label]
    return label == cell


def fitting(
    person: Row, released: Sequence[Row], columns: Mapping[str, Known], *, about: bool
) -> list[Row]:
    """The released rows that may be the person's."""
    return [
        row
        for row in released
        if all(fits(c, person[name], row[name], about=about) for name, c in columns.items())
    ]


def surely(value: Any, values: Sequence[Any]) -> Fraction:
    """How surely the most frequent of these values is the right one; of several, one at random."""
    often = Counter(values)
    best = [one for one, number in often.items() if number == max(often.values())]
    return Fraction(int(value in best), max(len(best), 1))


def guessed(
    person: Row, fitting_rows: Sequence[Row], released: Sequence[Row], name: str
) -> Fraction:
    """How surely a guess of a sensitive value is right; without rows, from the whole release."""
    return surely(person[name], [row[name] for row in fitting_rows or released])
