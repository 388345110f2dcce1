"""The privacy models beyond k, from their definitions (specification E), not optimised.

A column of a released table is a list of classes, each a list of the sensitive values of its rows;
None is a missing value, and a value like others. Figures are exact fractions where the definition
allows it; None where no finite figure would do. Where the classes are not all of the table, `whole`
has the values of all of it.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

Value: TypeAlias = object
Classes: TypeAlias = Sequence[Sequence[Value]]
Distance: TypeAlias = Callable[[Value, Value], Fraction]


def distribution(values: Sequence[Value]) -> dict[Value, Fraction]:
    """Return the share of each value."""
    return {value: Fraction(rows, len(values)) for value, rows in Counter(values).items()}


def everyone(classes: Classes) -> list[Value]:
    """Return the values of the whole table."""
    return [value for values in classes for value in values]


def shares_of_table(classes: Classes, whole: Sequence[Value] | None) -> dict[Value, Fraction]:
    """Return the share of each value in the whole table."""
    return distribution(everyone(classes) if whole is None else whole)


# ── persons and diversity ───────────────────────────────────────────────────────────────────────


def fewest_persons(classes: Classes) -> int:
    """Return the least number of different persons in a class; rows without one add nobody."""
    return min(len({person for person in persons if person is not None}) for persons in classes)


def risks_of_persons(classes: Classes) -> tuple[Fraction, Fraction, Fraction]:
    """Return the highest and the average chance of a guess, and the share that can be named right.

    Rows without a person are, at worst, those of whoever has most rows of their class.
    """
    total = sum(map(len, classes))
    chances: list[Fraction] = []
    named = 0
    for rows in classes:
        known = [person for person in rows if person is not None]
        most = max(sorted(set(map(str, known))), key=list(map(str, known)).count, default="nobody")
        owners = [most if person is None else str(person) for person in rows]
        chances += [Fraction(owners.count(owner), len(owners)) for owner in owners]
        named += max(owners.count(owner) for owner in owners)
    return max(chances), sum(chances, Fraction(0)) / total, Fraction(named, total)


def distinct(classes: Classes) -> int:
    """Return the largest l for which every class has l different values."""
    return min(len(set(values)) for values in classes)


def largest_share(classes: Classes, listed: Collection[Value] | None = None) -> Fraction:
    """Return the largest share that any value, or any of the listed ones, has in a class."""
    return max(
        (
            share
            for values in classes
            for value, share in distribution(values).items()
            if listed is None or value in listed
        ),
        default=Fraction(0),
    )


def has_entropy(classes: Classes, l: Fraction) -> bool:  # noqa: E741
    """Tell whether the entropy of every class is at least log l.

    -sum q log q >= log l, with q = c / s, is s^s >= l^s * product of c^c: whole numbers.
    """
    for values in classes:
        size = len(values)
        product = math.prod(rows**rows for rows in Counter(values).values())
        if Fraction(size) ** size < l**size * product:
            return False
    return True


def entropy_l(classes: Classes) -> float:
    """Return the largest l for which every class has entropy log l, rounded."""
    return min(
        math.exp(-sum(float(q) * math.log(q) for q in distribution(values).values()))
        for values in classes
    )


def recursive_c(classes: Classes, l: int) -> Fraction | None:  # noqa: E741
    """Return the number that c must exceed for r_1 < c (r_l + ... + r_m) in every class."""
    bounds = []
    for values in classes:
        counts = sorted(Counter(values).values(), reverse=True)
        rest = sum(counts[l - 1 :])
        if not rest:
            return None
        bounds.append(Fraction(counts[0], rest))
    return max(bounds)


# ── closeness ───────────────────────────────────────────────────────────────────────────────────


def equal_distance(one: Value, other: Value) -> Fraction:
    """Return how far apart two values are if all are equally far."""
    return Fraction(one != other)


def ordered_distance(column: Sequence[Value]) -> Distance:
    """Return the distance by ranks among the values of the column, missing ones last."""
    present = sorted({value for value in column if value is not None})  # type: ignore[type-var]
    line: list[Value] = [*present, *([None] if None in column else [])]
    steps = max(len(line) - 1, 1)
    return lambda one, other: Fraction(abs(line.index(one) - line.index(other)), steps)


def tree_distance(parent: Mapping[str, str]) -> Distance:
    """Return the distance by the height of the lowest common ancestor; missing is under the root.

    `parent` leads from every label but the root's to the one above.
    """
    root = next(above for above in parent.values() if above not in parent)

    def line(value: Value) -> list[str]:
        if value is None:
            return ["(missing)", root]
        way = [str(value)]
        while way[-1] in parent:
            way.append(parent[way[-1]])
        return way

    def height(label: str) -> int:
        below = [child for child, above in parent.items() if above == label]
        return 1 + max(map(height, below)) if below else 0

    def distance(one: Value, other: Value) -> Fraction:
        above = line(other)
        common = next(label for label in line(one) if label in above)
        return Fraction(height(common), height(root)) if one != other else Fraction(0)

    return distance


def earth_mover(classes: Classes, distance: Distance) -> float:
    """Return the largest cost of turning a class's distribution into that of the table.

    By the definition: a linear program over all ways to move shares from value to value.
    """
    from scipy.optimize import linprog

    table = distribution(everyone(classes))
    names = list(table)
    costs = [float(distance(one, other)) for one in names for other in names]
    worst = 0.0
    for values in classes:
        here = distribution(values)
        leave = [
            [float(source == one) for source in names for _ in names] for one in names
        ]  # what leaves each value
        arrive = [[float(goal == one) for _ in names for goal in names] for one in names]
        given = [float(here.get(one, 0)) for one in names] + [float(table[one]) for one in names]
        found = linprog(costs, A_eq=leave + arrive, b_eq=given, method="highs")
        assert found.success
        worst = max(worst, float(found.fun))
    return worst


def equal_t(classes: Classes, whole: Sequence[Value] | None = None) -> Fraction:
    """Return the largest half sum of the differences of shares."""
    table = shares_of_table(classes, whole)
    worst = Fraction(0)
    for values in classes:
        here = distribution(values)
        gaps = (abs(here.get(value, Fraction(0)) - p) for value, p in table.items())
        worst = max(worst, sum(gaps, Fraction(0)) / 2)
    return worst


def ordered_t(classes: Classes, whole: Sequence[Value] | None = None) -> Fraction:
    """Return the largest sum of what must pass between neighbours in the order of values."""
    table = shares_of_table(classes, whole)
    line = sorted(table, key=lambda value: (value is None, value))
    worst = Fraction(0)
    for values in classes:
        here = distribution(values)
        passing, cost = Fraction(0), Fraction(0)
        for value in line:
            passing += here.get(value, Fraction(0)) - table[value]
            cost += abs(passing)
        worst = max(worst, cost / max(len(line) - 1, 1))
    return worst


def tree_t(
    classes: Classes, parent: Mapping[str, str], whole: Sequence[Value] | None = None
) -> Fraction:
    """Return the largest cost by extras that meet at each node (Li et al. 2007, section 5)."""
    root = next(above for above in parent.values() if above not in parent)
    children: dict[str, list[str]] = {}
    for child, above in parent.items():
        children.setdefault(above, []).append(child)
    table = shares_of_table(classes, whole)

    def height(label: str) -> int:
        return 1 + max(map(height, children[label])) if label in children else 0

    def cost(values: Sequence[Value]) -> Fraction:
        here = distribution(values)
        total = Fraction()

        def extra(label: str) -> Fraction:
            nonlocal total
            if label not in children:
                return here.get(label, Fraction(0)) - table.get(label, Fraction(0))
            extras = [extra(child) for child in children[label]]
            if label == root:
                extras.append(here.get(None, Fraction(0)) - table.get(None, Fraction(0)))
            more = sum((e for e in extras if e > 0), Fraction())
            less = -sum((e for e in extras if e < 0), Fraction())
            total += Fraction(height(label), height(root)) * min(more, less)
            return more - less

        extra(root)
        return total

    return max(map(cost, classes))


def beta(
    classes: Classes, whole: Sequence[Value] | None = None, *, enhanced: bool
) -> Fraction | None:
    """Return the largest gain (q - p) / p of a value; None if a gain exceeds -ln p, if enhanced."""
    table = shares_of_table(classes, whole)
    worst = Fraction(0)
    for values in classes:
        for value, q in distribution(values).items():
            gain = (q - table[value]) / table[value]
            if gain > 0:
                if enhanced and float(gain) > -math.log(table[value]):
                    return None
                worst = max(worst, gain)
    return worst


def delta(classes: Classes, whole: Sequence[Value] | None = None) -> float | None:
    """Return the largest |ln(q / p)|; None if a value of the table is absent from a class."""
    table = shares_of_table(classes, whole)
    worst = 0.0
    for values in classes:
        here = distribution(values)
        for value, p in table.items():
            if value not in here:
                return None
            worst = max(worst, abs(math.log(here[value] / p)))
    return worst


def certain(classes: Classes) -> Fraction:
    """Return the share of rows in classes of one value."""
    rows = sum(len(values) for values in classes if len(set(values)) == 1)
    return Fraction(rows, len(everyone(classes)))


def similar(classes: Classes, within: Fraction) -> Fraction:
    """Return the share of rows in classes without missing numbers, all in a part of the range."""
    numbers = [Fraction(str(value)) for value in everyone(classes) if value is not None]
    if not numbers:
        return Fraction(0)
    width = (max(numbers) - min(numbers)) * within
    rows = 0
    for values in classes:
        if None not in values:
            members = [Fraction(str(value)) for value in values]
            if max(members) - min(members) <= width:
                rows += len(values)
    return Fraction(rows, len(everyone(classes)))
