# ruff: noqa: E741 (l is the name of the parameter everywhere)
"""CB: split the rows in two by 2-means, again and again, until no group has 2k rows.

He, Chen, Chen, Dong, Wang, Huang: Clustering-based k-anonymity, PAKDD 2012.

Where the paper errs, and what covey does:

- In figure 4 one letter counts tries and groups, and the means are not defined at the first try.
  Here the first try starts from two random rows, each further one from the means of the one before.
- The two random rows are put into the groups, distributed with all others, and removed again. Here
  they are centres only.
- Means of categories are defined for ordered values only, and distances not for trees. The option
  `categorical` chooses: distances in the "tree" with the most frequent category as centre, or
  places among the leaves as numbers ("ordered").
- Rows equally near to both centres go to the smaller group in the text, all to the second in the
  figure. Here they go to the smaller one; otherwise all equal rows would stay together.
- The paper does not say which rows fill up a group of fewer than k. Here those of least regret do.
- In "k = 15 tries", k stands for r, here `tries`.
- With l, a group that cannot be split is put back without end. Here it is final.
- Theorem 3 is false. Figure 5 deals a group of n rows out into n/l groups, rounded up. If l does
  not divide n, a group has fewer than l rows, and values that are too frequent. The figure also
  refuses a value in exactly n/l rows, which is feasible, and ignores k. Here small groups take one
  row from each of the l fullest buckets, and k/l of them, rounded up, merge. So any union has no
  value in more than 1/l of its rows.

Cost: O(n log(n/k)) distances in each try for even splits, O(n²/k) at worst.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from covey.reference.centres import (
    Centre,
    centre_of_row,
    centre_of_rows,
    distance,
    leaf_order,
    lexicographic,
)
from covey.reference.draws import Rng, below, shuffle
from covey.reference.model import (
    Column,
    Measure,
    Numeric,
    Table,
    categorical_columns,
    check_k,
    group_loss,
    labels_of,
    leaves_of_rows,
    numeric_columns,
    record_loss,
    rise,
)

Pair: TypeAlias = tuple[list[int], list[int]]
Distances: TypeAlias = dict[int, float]

WINDOW = 256  # rows of a bucket, or groups of a list, that are looked at


# The ordered reading of categories


def places(leaves: Sequence[str], order: Sequence[str]) -> list[float | None]:
    """Return the place of each leaf in the order, scaled to 0 ... 1."""
    last = len(order) - 1
    return [order.index(leaf) / last if last > 0 else 0.0 for leaf in leaves]


def ordered(table: Table) -> Table:
    """Return the table with a number for every leaf: its place among the leaves of the tree.

    The new names keep the attribute order: what was categorical still comes last.
    """
    columns: dict[str, Column] = {f"0 {name}": c for name, c in numeric_columns(table).items()}
    for name, column in categorical_columns(table).items():
        leaves = leaves_of_rows(column, range(len(column.values)))
        numbers = places(leaves, leaf_order(column))
        columns[f"1 {name}"] = Numeric(numbers, column.weight, domain=(0.0, 1.0))
    return columns


# Splitting a group


def assign(order: Sequence[int], to_first: Distances, to_second: Distances) -> Pair:
    """Give each row to the nearer centre; equal: to the smaller group so far, then the first."""
    first: list[int] = []
    second: list[int] = []
    for row in order:
        if to_first[row] < to_second[row]:
            first.append(row)
        elif to_second[row] < to_first[row]:
            second.append(row)
        else:
            smaller = second if len(second) < len(first) else first
            smaller.append(row)
    return sorted(first), sorted(second)


def repair(
    short: list[int], other: list[int], k: int, to_short: Distances, to_other: Distances
) -> Pair:
    """Move the rows of least regret from the other group until the short one has k."""
    by_regret = sorted(other, key=lambda row: (to_short[row] - to_other[row], row))
    moved = by_regret[: max(k - len(short), 0)]
    return sorted(short + moved), sorted(row for row in other if row not in moved)


def two_means(
    table: Table,
    group: Sequence[int],
    k: int,
    centres: tuple[Centre, Centre],
    *,
    tries: int,
    rng: Rng,
    measure: Measure = "height",
) -> Iterator[Pair]:
    """Yield the repaired groups of each try, the first from the given centres."""
    measured: tuple[Centre, Centre] | None = None
    for _ in range(tries):
        order = shuffle(rng, group)
        if centres != measured:  # they soon stay the same, and so do all distances
            to_first, to_second = (
                {row: distance(table, row, centre, measure) for row in group} for centre in centres
            )
            measured = centres
        first, second = assign(order, to_first, to_second)
        first, second = repair(first, second, k, to_first, to_second)
        second, first = repair(second, first, k, to_second, to_first)
        yield first, second
        centres = (centre_of_rows(table, first), centre_of_rows(table, second))


def two_places(rng: Rng, m: int) -> tuple[int, int]:
    """Draw two different places of 0 ... m-1."""
    a = below(rng, m)
    b = below(rng, m - 1)
    return a, b + 1 if b >= a else b


def attempts(
    table: Table,
    group: Sequence[int],
    k: int,
    *,
    tries: int,
    restarts: int,
    rng: Rng,
    measure: Measure,
) -> Iterator[Pair]:
    """Yield the groups of all tries from all starts, each of which is two random rows."""
    for _ in range(restarts):
        a, b = two_places(rng, len(group))
        centres = (centre_of_row(table, group[a]), centre_of_row(table, group[b]))
        yield from two_means(table, group, k, centres, tries=tries, rng=rng, measure=measure)


def diverse(rows: Sequence[int], l: int | None, sensitive: Sequence[int]) -> bool:
    """Tell whether no code of the rows is more frequent than 1/l; without l every group is."""
    if l is None:
        return True
    return l * max(Counter(sensitive[row] for row in rows).values()) <= len(rows)


def total_loss(table: Table, groups: Iterable[Sequence[int]], measure: Measure) -> float:
    """Return what all groups lose together."""
    total = 0.0
    for rows in groups:
        total += group_loss(table, rows, measure)
    return total


def best_of(
    pairs: Iterable[Pair], l: int | None, sensitive: Sequence[int], table: Table, measure: Measure
) -> Pair | None:
    """Return the first pair of diverse groups that lose least, if there is one."""
    least, best = math.inf, None
    for pair in pairs:
        if all(diverse(rows, l, sensitive) for rows in pair):
            lost = total_loss(table, pair, measure)
            if lost < least:
                least, best = lost, pair
    return best


# Dealing a group out


def buckets_of(
    table: Table, group: Sequence[int], sensitive: Sequence[int]
) -> dict[int, list[int]]:
    """Return the rows of each code, by ascending code, in lexicographic order."""
    buckets: dict[int, list[int]] = {code: [] for code in sorted({sensitive[r] for r in group})}
    for row in lexicographic(table, group):
        buckets[sensitive[row]].append(row)
    return buckets


def peel(table: Table, buckets: dict[int, list[int]], l: int, measure: Measure) -> list[list[int]]:
    """Take groups of one row from each of the l largest buckets, while there are as many."""
    groups: list[list[int]] = []
    while True:
        filled = [code for code in buckets if buckets[code]]
        if len(filled) < l:
            return groups
        largest = sorted(filled, key=lambda code: (-len(buckets[code]), code))[:l]
        group = [buckets[largest[0]].pop(0)]
        for code in largest[1:]:
            nearest = min(
                buckets[code][:WINDOW], key=lambda row: record_loss(table, [*group, row], measure)
            )
            buckets[code].remove(nearest)
            group.append(nearest)
        groups.append(group)


def place_the_rest(
    table: Table,
    groups: list[list[int]],
    buckets: dict[int, list[int]],
    sensitive: Sequence[int],
    measure: Measure,
) -> bool:
    """Give each row left over to a group without its code; tell whether there always is one."""
    for code in buckets:
        for row in buckets[code]:
            lacking = [g for g in groups if code not in [sensitive[member] for member in g]]
            if not lacking:
                return False
            home = min(lacking, key=lambda group: rise(table, group, row, measure))
            home.append(row)
    return True


def merge(table: Table, groups: list[list[int]], q: int, measure: Measure) -> list[list[int]]:
    """Join the groups, q at a time, to classes of near ones; those left over join a class."""
    waiting = list(groups)
    classes: list[list[int]] = []
    while len(waiting) >= q:
        union = waiting.pop(0)
        for _ in range(q - 1):
            place = min(
                range(len(waiting[:WINDOW])),
                key=lambda i: record_loss(table, union + waiting[i], measure),
            )
            union = union + waiting.pop(place)
        classes.append(union)
    if not classes:
        return []
    for group in waiting:
        home = min(
            classes,
            key=lambda rows: (
                group_loss(table, rows + group, measure) - group_loss(table, rows, measure)
            ),
        )
        home += group
    return classes


def deal(
    table: Table,
    group: Sequence[int],
    k: int,
    *,
    l: int,
    sensitive: Sequence[int],
    scale: Table,
    measure: Measure = "height",
) -> list[list[int]]:
    """Return classes of the rows of a group, each 1/l-diverse and of at least k rows.

    There is none if it cannot be done. `scale` is the table that losses are taken of.
    """
    buckets = buckets_of(table, group, sensitive)
    peeled = peel(scale, buckets, l, measure)
    if not place_the_rest(scale, peeled, buckets, sensitive, measure):
        return []
    return merge(scale, peeled, math.ceil(k / l), measure)


# The method


def check_diversity(n: int, l: int | None, sensitive: Sequence[int] | None) -> Sequence[int]:
    """Return the sensitive code of each row; raise if the whole table is not 1/l-diverse."""
    if (l is None) != (sensitive is None):
        raise ValueError("l and the sensitive codes go together")
    codes = [0] * n if sensitive is None else sensitive
    if len(codes) != n:
        raise ValueError("one code per row is needed")
    if not diverse(range(n), l, codes):
        raise ValueError(f"the table is not 1/{l}-diverse")
    return codes


def cb(  # noqa: PLR0913 - the options of the method
    table: Table,
    k: int,
    *,
    rng: Rng,
    measure: Measure = "height",
    tries: int = 15,
    restarts: int = 1,
    categorical: Literal["tree", "ordered"] = "tree",
    l: int | None = None,
    sensitive: Sequence[int] | None = None,
) -> list[int]:
    """Return the group of each row; groups are numbered depth first, left before right.

    With `l`, `sensitive` has the code of each row's sensitive value.
    """
    n = check_k(table, k)
    codes = check_diversity(n, l, sensitive)
    scale = ordered(table) if categorical == "ordered" else table

    def final_groups(group: list[int]) -> list[list[int]]:
        if len(group) < 2 * k:
            return [group]
        pairs = attempts(scale, group, k, tries=tries, restarts=restarts, rng=rng, measure=measure)
        halves = best_of(pairs, l, codes, scale, measure)
        if halves is None:
            return [group]
        return final_groups(halves[0]) + final_groups(halves[1])

    def dealt_out(group: list[int]) -> list[list[int]]:
        if l is None:
            return [group]
        classes = deal(table, group, k, l=l, sensitive=codes, scale=scale, measure=measure)
        gains = total_loss(scale, classes, measure) < group_loss(scale, group, measure)
        return classes if len(classes) >= 2 and gains else [group]

    groups = final_groups(list(range(n)))
    return labels_of([rows for group in groups for rows in dealt_out(group)], n)
