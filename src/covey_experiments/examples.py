"""The papers' worked examples and proofs, computed again without any table of people."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, log, prod

import polars as pl

from covey import Column, Groups, Schema, Taxonomy, cluster, measure
from covey_experiments import adult
from covey_experiments.judging import Finding, Verdict


@dataclass(frozen=True)
class Worked:
    """The result of an example: a small table, and a verdict on the claim."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    verdict: Verdict


@dataclass(frozen=True)
class Example:
    """A worked example or a proof."""

    name: str
    number: str
    title: str
    claim: str
    origin: str
    work: Callable[[], Worked]

    @property
    def paper(self) -> str:
        """The key of its paper."""
        return self.name.partition("-")[0]


# ── He et al. 2012 ──────────────────────────────────────────────────────────────────────────────

_PATIENTS = ("Andy", "Bob", "Jane", "Alex", "Mary", "Lily", "Lucy")
# Only the names, the ranges 40 and 25, and the result of the paper's first table were available.
# Many tables fit; this one was chosen so that its NCP and GCP are the paper's.
_TABLE_1 = pl.DataFrame(
    {
        "age": [20, 20, 30, 40, 50, 55, 60],
        "zip": [10, 15, 10, 15, 30, 30, 35],
    }
)
_TABLE_2 = (0, 0, 1, 1, 2, 2, 2)
_NCP, _GCP = 2.65, 0.1893
_STARTS = 8


def _partitions(rows: int, least: int) -> Iterator[tuple[int, ...]]:
    """Every way to put rows into groups that are large enough, as labels."""

    def further(labels: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(labels) == rows:
            if all(labels.count(group) >= least for group in set(labels)):
                yield labels
            return
        for group in range(max(labels, default=-1) + 2):
            yield from further((*labels, group))

    yield from further(())


def _ncp(labels: tuple[int, ...]) -> float:
    """The loss of all rows by the paper's definition: ranges of groups over ranges of columns."""
    lost = 0.0
    for column in map(list, _TABLE_1):
        for group in set(labels):
            cells = [cell for cell, label in zip(column, labels, strict=True) if label == group]
            lost += len(cells) * (max(cells) - min(cells)) / (max(column) - min(column))
    return lost


def _tables_1_and_2() -> Worked:
    schema, seeds = Schema.of(quasi={"age": "numeric", "zip": "numeric"}), range(20)

    def arrivals(given: str, starts: int) -> Finding:
        formed = (
            cluster(_TABLE_1, schema, k=2, method="cb", seed=seed, restarts=starts)
            for seed in seeds
        )
        times = sum(_same(groups.labels.tolist(), _TABLE_2) for groups in formed)
        return Finding(
            f"CB arrives at Table 2 with {times} of {len(seeds)} seeds, given {given}.",
            times / len(seeds),
        )

    ways = list(_partitions(len(_PATIENTS), 2))
    printed, optimum = measure(_TABLE_1, Groups(_TABLE_2), schema).total_il, min(map(_ncp, ways))
    gcp = printed / (len(_PATIENTS) * 2)
    findings = (
        Finding(
            f"The NCP of Table 2 is {printed:.2f} and its GCP {gcp:.4f}, as printed, because "
            "Table 1 was chosen here to give these values.",
            float(abs(printed - _NCP) < 1e-9 and abs(gcp - _GCP) < 5e-5),
        ),
        Finding(
            f"The best of all {len(ways)} ways to form groups of two or more loses {optimum:.2f}.",
            float(abs(printed - optimum) < 1e-9),
        ),
        arrivals("one start for each split, as in the paper", 1),
        arrivals(f"{_STARTS} starts for each split", _STARTS),
    )
    rows = tuple(_shown(group) for group in range(3))
    return Worked(("group of Table 2", "age", "zip"), rows, Verdict(findings))


def _shown(group: int) -> tuple[str, ...]:
    rows = [row for row, label in enumerate(_TABLE_2) if label == group]
    ranges = [[_TABLE_1[row, name] for row in rows] for name in _TABLE_1.columns]
    names = ", ".join(_PATIENTS[row] for row in rows)
    return (names, *(f"[{min(values)}, {max(values)}]" for values in ranges))


def _same(labels: list[int], others: tuple[int, ...]) -> bool:
    pairs = set(zip(labels, others, strict=True))
    return len(pairs) == len(set(labels)) == len(set(others))


_LARGEST = 12


def _theorem_3() -> Worked:
    """Distribute every small table by value, with the number of groups rounded up and down.

    The paper rounds up.
    """
    rows, feasible, failed, divided = [], 0, 0, 0
    for l in (2, 3, 4):  # noqa: E741 - its name everywhere
        tables = [
            counts
            for size in range(l, _LARGEST + 1)
            for counts in _profiles(size, size)
            if counts[0] * l <= size
        ]
        up = [c for c in tables if not _diverse(c, ceil(sum(c) / l), l)]
        down = [c for c in tables if not _diverse(c, sum(c) // l, l)]
        rows.append((str(l), f"{len(tables):,}", f"{len(up):,}", f"{len(down):,}"))
        feasible, failed = feasible + len(tables), failed + len(up)
        divided += sum(sum(counts) % l == 0 for counts in up)
    finding = Finding(
        f"As printed, {failed:,} of {feasible:,} tables of up to {_LARGEST} rows end with a group "
        "that is not 1/l-diverse. The smallest has three rows with three values, which l = 2 "
        "splits into one row and two rows. Of the tables whose number of rows l divides, "
        f"{divided:,} fail.",
        float(not failed),
    )
    head = ("l", "tables that could be split", "fail as printed", "fail rounded down")
    return Worked(head, tuple(rows), Verdict((finding,)))


def _profiles(rows: int, most: int) -> Iterator[tuple[int, ...]]:
    """All ways in which values can occur in this many rows, the most frequent value first."""
    if rows == 0:
        yield ()
    for first in range(min(rows, most), 0, -1):
        for rest in _profiles(rows - first, first):
            yield (first, *rest)


def _diverse(counts: tuple[int, ...], groups: int, l: int) -> bool:  # noqa: E741
    """Whether no value is too frequent after rows are distributed in the order of values."""
    values = [value for value, count in enumerate(counts) for _ in range(count)]
    dealt = [values[group::groups] for group in range(groups)]
    return all(max(map(part.count, part)) * l <= len(part) for part in dealt)


# ── Wang et al. 2022 ────────────────────────────────────────────────────────────────────────────


def _figure_1() -> Worked:
    column = {"role": "quasi", "type": "categorical", "taxonomy": adult.TREES["workclass"]}
    tree = Column.model_validate(column).taxonomy_over(())
    rows, findings = [], []
    for one, other, printed in (
        ("Private", "Local-gov", 18.0),
        ("State-gov", "Local-gov", 0.4628),
    ):
        leaves = [tree.node_of[one], tree.node_of[other]]
        node = tree.lowest_common_ancestor(leaves)
        distance = prod(_way_up(tree, leaf, node) for leaf in leaves)
        rows.append((f"{one}, {other}", f"{printed:g}", f"{distance:.4f}"))
        findings.append(
            Finding(
                f"The distance of {one} and {other} is {distance:.4f}; the paper has {printed:g}.",
                float(abs(distance - printed) < 5e-5),
            )
        )
    return Worked(("work classes", "printed", "here"), tuple(rows), Verdict(tuple(findings)))


def _way_up(tree: Taxonomy, leaf: int, node: int) -> float:
    """The distance from a leaf to a node above it, by Equation 4."""
    top = tree.height + 1
    height, level = (top - int(tree.depth[each]) for each in (node, leaf))
    share = int(tree.leaves_below[node]) / tree.leaf_count
    return float((height * (height - level)) ** (height / top) * share)


_COMPLEXITY_K = 10


def _complexity() -> Worked:
    """Count the distances that are added up to choose centres.

    Equation 7 sums them again for each centre.
    """
    sizes = (5_000, 10_000, 20_000, 30_000)
    k = _COMPLEXITY_K
    anew = [sum(i * (n - i * k) for i in range(1, n // k)) for n in sizes]
    carried = [sum(n - i * k for i in range(1, n // k)) for n in sizes]
    powers = [log(sums[-1] / sums[0]) / log(sizes[-1] / sizes[0]) for sums in (anew, carried)]
    rows = tuple(
        (f"{n:,}", f"{one:,}", f"{other:,}")
        for n, one, other in zip(sizes, anew, carried, strict=True)
    )
    finding = Finding(
        f"The sum of Equation 7 grows like the power {powers[0]:.2f} of n, not 2: it is about "
        f"n³ / (6k²). Only with running sums, as in covey, is the power {powers[1]:.2f}.",
        float(powers[0] < 2.5),
    )
    head = ("n", "terms summed as in Equation 7", "terms summed with running sums")
    return Worked(head, rows, Verdict((finding,)))


WORK = {
    "he-tables": _tables_1_and_2,
    "he-theorem": _theorem_3,
    "wang-1": _figure_1,
    "wang-complexity": _complexity,
}
