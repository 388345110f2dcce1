"""WF-C-means: C-means that finds the weights of columns itself, then merging of small classes.

Chiu, Tsai: A k-anonymity clustering method for effective data privacy preservation, ADMA 2007.

The text of the paper was not available. The abstract says that weights of features are adjusted
automatically and that small classes are merged; the formula here is covey's, and the paper's may be
another. A column weighs 1 / (mean distance within classes + 1/n), where 1/n keeps the weight
finite, and 1 on average. Centres have means and most frequent categories. The method ends when no
row changes its class, or after `iterations` rounds. Wang, He and Zhu (2022) report that two small
classes are not considered for each other; covey merges the smallest class first, into the nearest
class of any size, whose centre stays.

Cost: O(n²/k) distances in each round.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from covey.reference.centres import Centre, attribute_distances, centre_of_row, centre_of_rows
from covey.reference.draws import Rng, shuffle
from covey.reference.model import Measure, Table, attribute_order, check_k, labels_of

Features: TypeAlias = Mapping[str, float]


def distance(
    table: Table, one: Centre, other: Centre, features: Features, measure: Measure
) -> float:
    """Return the distance of two points: by the weights of the schema and those of the method."""
    parts = attribute_distances(table, one, other, measure)
    total = 0.0
    for name in attribute_order(table):
        total += (table[name].weight * features[name]) * parts[name]
    return total


def feature_weights(
    table: Table, homes: Sequence[int], centres: Sequence[Centre], measure: Measure
) -> dict[str, float]:
    """Return a weight by column: large if rows are close to the centre of their class in it."""
    n = len(homes)
    names = attribute_order(table)
    totals = dict.fromkeys(names, 0.0)
    for row, home in enumerate(homes):
        parts = attribute_distances(table, centre_of_row(table, row), centres[home], measure)
        for name in names:
            totals[name] += parts[name]
    closeness = {name: 1.0 / (totals[name] / n + 1.0 / n) for name in names}
    total = 0.0
    for name in names:
        total += closeness[name]
    return {name: len(names) * closeness[name] / total for name in names}


def wf_c_means(
    table: Table,
    k: int,
    *,
    rng: Rng,
    measure: Measure = "height",
    iterations: int = 30,
) -> list[int]:
    """Return the class of each row; classes are numbered in the order of their first centres."""
    n = check_k(table, k)
    if iterations < 1:
        raise ValueError("at least one iteration is needed")
    points = [centre_of_row(table, row) for row in range(n)]
    centres = [points[row] for row in shuffle(rng, range(n))[: n // k]]
    features = dict.fromkeys(attribute_order(table), 1.0)

    def nearest(point: Centre, numbers: Sequence[int]) -> int:
        return min(
            numbers, key=lambda number: distance(table, point, centres[number], features, measure)
        )

    def members(homes: Sequence[int], number: int) -> list[int]:
        return [row for row in range(n) if homes[row] == number]

    homes: list[int] = []
    for _ in range(iterations):
        before = homes
        homes = [nearest(point, range(len(centres))) for point in points]
        if homes == before:
            break
        for number in set(homes):
            centres[number] = centre_of_rows(table, members(homes, number))
        features = feature_weights(table, homes, centres, measure)

    while True:
        numbers = sorted(set(homes))
        size = {number: homes.count(number) for number in numbers}
        small = [number for number in numbers if size[number] < k]
        if not small or len(numbers) == 1:
            return labels_of([members(homes, number) for number in numbers], n)
        smallest = min(small, key=lambda number: size[number])
        target = nearest(centres[smallest], [number for number in numbers if number != smallest])
        homes = [target if home == smallest else home for home in homes]
