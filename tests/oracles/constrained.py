"""The least Total-IL under any requirements, and whether there is any (specification E).

A requirement is judged group by group: the values of a column in the group against those of the
whole table. Groups may have any size, since a group that keeps all requirements may have no part
that does.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from covey.reference.model import Measure, Table, row_count

from . import requirements as models
from .optimum import Rows, best_partition
from .requirements import Classes, Value

Predicate = Callable[[Rows], bool]


# ── one requirement ─────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Rule:
    """One requirement: its model, its figure, and the values of its column, row by row.

    `l` is that of recursive diversity, whose figure is c; `listed` are the values that alpha is
    about; `parent` is the tree of hierarchical closeness.
    """

    model: str
    figure: Fraction
    values: Sequence[Value]
    l: int = 0  # noqa: E741
    listed: Sequence[Value] | None = None
    parent: Mapping[str, str] | None = None

    def of(self, groups: Sequence[Rows]) -> Classes:
        """Return the values of these groups, which may be fewer than all."""
        return [[self.values[row] for row in sorted(group)] for group in groups]

    def best(self, group: Rows) -> float | None:
        """Return the figure that a group has; None where no figure would do.

        Diversity, persons and rows are larger where they are better, all else is smaller.
        """
        classes = self.of([group])
        match self.model:
            case "rows":
                return len(group)
            case "persons":
                return models.fewest_persons(classes)
            case "distinct":
                return models.distinct(classes)
            case "frequency":
                return float(1 / models.largest_share(classes))
            case "entropy":
                return models.entropy_l(classes)
            case _:
                found = self._at_most(classes)
                return None if found is None else float(found)

    def holds(self, group: Rows) -> bool:
        """Tell whether one group keeps the requirement."""
        classes = self.of([group])
        match self.model:
            case "rows" | "persons" | "distinct":
                best = self.best(group)
                return best is not None and best >= self.figure
            case "frequency":
                return models.largest_share(classes) * self.figure <= 1
            case "entropy":
                return models.has_entropy(classes, self.figure)
            case "recursive" | "delta":
                found = self._at_most(classes)
                return found is not None and found < self.figure
            case _:
                found = self._at_most(classes)
                return found is not None and found <= self.figure

    def _at_most(self, classes: Classes) -> Fraction | float | None:
        match self.model:
            case "recursive":
                return models.recursive_c(classes, self.l)
            case "equal":
                return models.equal_t(classes, self.values)
            case "ordered":
                return models.ordered_t(classes, self.values)
            case "hierarchical":
                assert self.parent is not None
                return models.tree_t(classes, self.parent, self.values)
            case "alpha":
                return models.largest_share(classes, self.listed)
            case "person share":  # a row of nobody may be anyone's, so no figure would do
                unknown = any(None in persons for persons in classes)
                return None if unknown else models.largest_share(classes)
            case "basic" | "enhanced":
                return models.beta(classes, self.values, enhanced=self.model == "enhanced")
            case "delta":
                return models.delta(classes, self.values)
        raise ValueError(f"unknown model {self.model!r}")


def keeps(rules: Sequence[Rule]) -> Predicate:
    """Return what tells of a group whether it keeps all requirements; each is judged once."""
    known: dict[Rows, bool] = {}

    def judge(group: Rows) -> bool:
        if group not in known:
            known[group] = all(one.holds(group) for one in rules)
        return known[group]

    return judge


def is_feasible(rules: Sequence[Rule], n: int) -> bool:
    """Tell whether n rows can be grouped so that all requirements hold (E, last column).

    All models are closed under union, so that they can be had exactly if the whole table keeps
    them.
    """
    return keeps(rules)(frozenset(range(n)))


def partitions(rows: Sequence[int]) -> Iterator[list[Rows]]:
    """Yield every way to group the rows."""
    if not rows:
        yield []
        return
    first, *others = rows
    for size in range(len(rows)):
        for mates in combinations(others, size):
            rest = [row for row in others if row not in mates]
            for grouping in partitions(rest):
                yield [frozenset((first, *mates)), *grouping]


def constrained_optimum(
    table: Table, complies: Predicate, measure: Measure = "height"
) -> tuple[float, list[int]] | None:
    """Return the least Total-IL of a partition into groups that comply, and its labels."""
    return best_partition(table, range(1, row_count(table) + 1), complies, measure)
