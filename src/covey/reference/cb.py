# ruff: noqa: E741 (l is the name of the parameter everywhere)
"""CB, bisecting 2-means with repair (He et al. 2012, specification A2), and its l-diverse form.

With l, splits keep every group 1/l-diverse, and the groups at the end are dealt out into smaller
classes where that loses less (A2b, E3).
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from covey.reference.centres import (
    Centre,
    LeafOrders,
    Rng,
    below,
    categorical_columns,
    centre_of_row,
    centre_of_rows,
    check_k,
    distance,
    lexicographic,
    numeric_columns,
    rise,
    shuffle,
)
from covey.reference.k_member import labels_of
from covey.reference.model import Column, Measure, Numeric, Table, leaves_of_rows, record_loss

Pair: TypeAlias = tuple[list[int], list[int]]
Distances: TypeAlias = dict[int, float]

WINDOW = 256  # rows of a bucket, or groups of a list, that are looked at


# The ordered reading of categories


def places(leaves: Sequence[str], leaf_order: Sequence[str]) -> list[float | None]:
    """Return the place of each leaf in the leaf order, scaled to 0 ... 1."""
    last = len(leaf_order) - 1
    return [leaf_order.index(leaf) / last if last > 0 else 0.0 for leaf in leaves]


def ordered(table: Table, leaf_orders: LeafOrders) -> Table:
    """Return the table with a number for every leaf: its place in the leaf order.

    The new names keep the attribute order: what was categorical still comes last.
    """
    columns: dict[str, Column] = {f"0 {name}": c for name, c in numeric_columns(table).items()}
    for name, column in categorical_columns(table).items():
        leaves = leaves_of_rows(column, range(len(column.values)))
        numbers = places(leaves, leaf_orders[name])
        columns[f"1 {name}"] = Numeric(numbers, column.weight, domain=(0.0, 1.0))
    return columns


# Splitting a group


def group_loss(table: Table, rows: Sequence[int], measure: Measure) -> float:
    """Return |G| * L(G)."""
    return len(rows) * record_loss(table, rows, measure)


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
    leaf_orders: LeafOrders,
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
        centres = (
            centre_of_rows(table, first, leaf_orders),
            centre_of_rows(table, second, leaf_orders),
        )


def two_places(rng: Rng, m: int) -> tuple[int, int]:
    """Draw two different places of 0 ... m-1."""
    a = below(rng, m)
    b = below(rng, m - 1)
    return a, b + 1 if b >= a else b


def diverse(rows: Sequence[int], l: int | None, sensitive: Sequence[int]) -> bool:
    """Tell whether no code of the rows is more frequent than 1/l; without l every group is."""
    if l is None:
        return True
    return l * max(Counter(sensitive[row] for row in rows).values()) <= len(rows)


# Dealing a group out


def buckets_of(
    table: Table, group: Sequence[int], sensitive: Sequence[int], leaf_orders: LeafOrders
) -> dict[int, list[int]]:
    """Return the rows of each code, by ascending code, in lexicographic order."""
    buckets: dict[int, list[int]] = {code: [] for code in sorted({sensitive[r] for r in group})}
    for row in lexicographic(table, group, leaf_orders):
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
    leaf_orders: LeafOrders,
    measure: Measure = "height",
    scale: Table | None = None,
) -> list[list[int]]:
    """Return classes of the rows of a group, each 1/l-diverse and of at least k rows.

    There is none if it cannot be done. `scale` is the table that losses are taken of.
    """
    scale = table if scale is None else scale
    buckets = buckets_of(table, group, sensitive, leaf_orders)
    peeled = peel(scale, buckets, l, measure)
    if not place_the_rest(scale, peeled, buckets, sensitive, measure):
        return []
    return merge(scale, peeled, math.ceil(k / l), measure)


# He's own way to deal a group out (Fig. 5)


def he_split(
    values: Sequence[int],
    l: int,
    groups: Literal["ceil", "floor"],
) -> list[list[int]]:
    """Return the values sorted and dealt round robin into |T| / l groups, rounded as told.

    He numbers the rows from 1: row i goes to group (i mod g) + 1.
    """
    count = math.ceil(len(values) / l) if groups == "ceil" else len(values) // l
    dealt: list[list[int]] = [[] for _ in range(count)]
    for i, value in enumerate(sorted(values), start=1):
        dealt[i % count].append(value)
    return dealt


# The method


def cb(
    table: Table,
    k: int,
    *,
    rng: Rng,
    leaf_orders: LeafOrders,
    measure: Measure = "height",
    tries: int = 15,
    restarts: int = 1,
    categorical: Literal["tree", "ordered"] = "tree",
    l: int | None = None,
    sensitive: Sequence[int] | None = None,
) -> list[int]:
    """Return the group of each row; groups are numbered depth first, left before right."""
    n = check_k(table, k)
    if (l is None) != (sensitive is None):
        raise ValueError("l and the sensitive codes go together")
    codes = [0] * n if sensitive is None else sensitive
    if len(codes) != n:
        raise ValueError("one code per row is needed")
    if not diverse(range(n), l, codes):
        raise ValueError(f"the table is not 1/{l}-diverse")
    scale = ordered(table, leaf_orders) if categorical == "ordered" else table

    def split(group: list[int]) -> Pair | None:
        best, remembered = math.inf, None
        for _ in range(restarts):
            a, b = two_places(rng, len(group))
            centres = (centre_of_row(scale, group[a]), centre_of_row(scale, group[b]))
            for first, second in two_means(
                scale,
                group,
                k,
                centres,
                tries=tries,
                rng=rng,
                leaf_orders=leaf_orders,
                measure=measure,
            ):
                if not (diverse(first, l, codes) and diverse(second, l, codes)):
                    continue
                cost = group_loss(scale, first, measure) + group_loss(scale, second, measure)
                if cost < best:
                    best, remembered = cost, (first, second)
        return remembered

    def final_groups(group: list[int]) -> list[list[int]]:
        halves = split(group) if len(group) >= 2 * k else None
        if halves is None:
            return [group]
        return final_groups(halves[0]) + final_groups(halves[1])

    def dealt_out(group: list[int]) -> list[list[int]]:
        if l is None:
            return [group]
        classes = deal(
            table,
            group,
            k,
            l=l,
            sensitive=codes,
            leaf_orders=leaf_orders,
            measure=measure,
            scale=scale,
        )
        loss = 0.0
        for rows in classes:
            loss += group_loss(scale, rows, measure)
        better = len(classes) >= 2 and loss < group_loss(scale, group, measure)
        return classes if better else [group]

    groups = final_groups(list(range(n)))
    return labels_of([rows for group in groups for rows in dealt_out(group)], n)
