"""Compile requirements to constraints on groups: sensitive values as codes, and rules for them.

All requirements are closed under union: if two groups meet a requirement, so does their union. So
a grouping that meets it exists exactly if the whole table meets it, which is checked before any
work. If a table has too many rows of some values, the module also finds how many to remove.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import polars as pl

from covey._core.arrays import Flags, Floats, Ints, Longs, RuleKind, Rules
from covey.errors import count
from covey.schema.requirements import (
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    Number,
    PersonShare,
    Requirement,
    TCloseness,
    exactly,
)
from covey.schema.taxonomy import Taxonomy

NOBODY = -1


@dataclass(frozen=True, eq=False, repr=False)
class Coded:
    """A column as codes of the values that occur, in their order if they have one."""

    values: Ints  # one code per row, -1 for a row without a person
    known: pl.Series  # the values
    read: Callable[[pl.Series], pl.Series] = pl.Series.clone  # how to read cells of the column
    tree: Taxonomy | None = None
    leaves: Longs | None = None  # of the tree, for each value
    totals: Longs | None = None  # rows with each value in the whole table, if these are a part

    @cached_property
    def counts(self) -> Longs:
        """How many rows have each value."""
        return np.bincount(self.values[self.values >= 0], minlength=len(self.known))

    @property
    def in_table(self) -> Longs:
        """How many rows of the whole table have each value."""
        return self.counts if self.totals is None else self.totals

    @property
    def table_rows(self) -> int:
        """The number of rows of the whole table."""
        return len(self.values) if self.totals is None else int(self.totals.sum())

    @property
    def shares(self) -> Floats:
        """The share of each value in the whole table."""
        return self.in_table / self.table_rows

    def bound_by(self, requirement: Requirement) -> Flags:
        """The values that a requirement applies to."""
        if not isinstance(requirement, AlphaK) or requirement.values is None:
            return np.ones(len(self.known), dtype=np.bool_)
        listed = self.read(pl.Series(requirement.values)).drop_nulls().cast(pl.String)
        found = self.known.cast(pl.String).is_in(listed.implode())
        return found.fill_null(False).to_numpy()

    def take(self, rows: Longs) -> "Coded":
        """Select some rows; a part of a table keeps the frequencies of the whole."""
        if self.totals is not None:
            return replace(self, values=self.values[rows])
        known, values = np.unique(self.values[rows], return_inverse=True)
        missing = int(known[0] == NOBODY)
        known = known[missing:]
        return replace(
            self,
            values=(values - missing).astype(np.int32),
            known=self.known[known.tolist()],
            leaves=None if self.leaves is None else self.leaves[known],
        )


@dataclass(frozen=True, eq=False, repr=False)
class Constraints:
    """Requirements, and the columns that they apply to."""

    requirements: tuple[Requirement, ...]
    columns: Mapping[str, Coded]

    @property
    def values(self) -> Ints:
        """The codes of all columns, one column each."""
        return np.stack([column.values for column in self.columns.values()], axis=1)

    def take(self, rows: Longs) -> "Constraints":
        """Select some rows."""
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        return replace(self, columns=columns)

    @property
    def are_sensitive(self) -> bool:
        """Whether groups that meet them may point to a sensitive value, not only to persons."""
        return any(not isinstance(one, KAnonymity | PersonShare) for one in self.requirements)

    @property
    def missed(self) -> tuple[Requirement, ...]:
        """The requirements that the whole table does not meet."""
        return tuple(one for one in self.requirements if not self._of_whole(one)[0])

    def refusal(self, requirement: Requirement) -> str:
        """Say why this table cannot meet a requirement, and what is possible."""
        best = self._of_whole(requirement)[1]
        return f"{requirement.name} is not possible for this table: {best}"

    def excess(self, requirement: Requirement) -> Longs | None:
        """The fewest rows of each value to remove to meet a requirement; None if that cannot help.

        For any number of removed rows, it is best to remove each from the value that is then the
        most frequent: no other way leaves more even counts. So only this way has to be tried.
        """
        if self._nobody(requirement):
            return None
        column = self._column(requirement)
        counts, bound = column.counts, column.bound_by(requirement)
        path = _Levelling.of(np.where(bound, counts, 0), int(counts.sum()))
        for removed in np.flatnonzero(path.may_keep(requirement)).tolist():
            rest = counts - path.levelled(removed)
            if rest.any() and _of_whole(requirement, rest, bound)[0]:
                return counts - rest
        return None

    def values_of(self, requirement: Requirement) -> Ints:
        """The codes of the column that a requirement applies to."""
        return self._column(requirement).values

    def _column(self, requirement: Requirement) -> Coded:
        return self.columns[str(requirement.column)]

    def _of_whole(self, requirement: Requirement) -> tuple[bool, str]:
        if nobody := self._nobody(requirement):
            return False, f"{count(nobody, 'row')} without a person, which may be anyone's"
        column = self._column(requirement)
        return _of_whole(requirement, column.counts, column.bound_by(requirement))

    def _nobody(self, requirement: Requirement) -> int:
        """Rows without a person, whose shares are unknown."""
        if not isinstance(requirement, PersonShare):
            return 0
        return int((self.values_of(requirement) == NOBODY).sum())

    @property
    def least_rows(self) -> int:
        """The fewest rows of any group that meets every requirement."""
        return max(_least_rows(one, self._column(one)) for one in self.requirements)

    def rows_around_rare(self, requirement: Requirement) -> int:
        """The fewest rows of a group that meets a requirement and has one row of the rarest value.

        In a smaller group, that row breaks the requirement, whatever the others are.
        """
        return _rows_around_rare(requirement, self._column(requirement))

    def meets(self, counts: Mapping[str, Longs]) -> bool:
        """Whether rows with so many of each value meet every requirement as one group."""
        return all(self._meets(one, counts[str(one.column)]) for one in self.requirements)

    def _meets(self, requirement: Requirement, counts: Longs) -> bool:
        column = self._column(requirement)
        if not counts.any():
            return False
        if requirement.relative:
            return _keeps(_rule(requirement, 0, column), counts)
        return _of_whole(requirement, counts, column.bound_by(requirement))[0]

    @cached_property
    def rules(self) -> Rules:
        """The rules in the form that the kernels use, sorted by column."""
        places = {name: place for place, name in enumerate(self.columns)}
        drafts = [
            _rule(one, places[str(one.column)], self._column(one)) for one in self.requirements
        ]
        return _bundle(sorted(drafts, key=lambda draft: draft.column))


def constraints_of(
    requirements: Sequence[Requirement], columns: Mapping[str, Coded]
) -> Constraints | None:
    """Compile all requirements other than k rows per group; None if there are none."""
    compiled = tuple(one for one in requirements if one.column is not None)
    names = sorted({str(one.column) for one in compiled})
    return Constraints(compiled, {name: columns[name] for name in names}) if compiled else None


def _of_whole(  # noqa: PLR0911 - one case a model
    requirement: Requirement,
    counts: Longs,
    bound: Flags,
) -> tuple[bool, str]:
    """Whether a whole table of these counts meets a requirement, and what is possible instead."""
    rows, most = int(counts.sum()), int(counts[bound].max(initial=0))
    counts = counts[counts > 0]
    match requirement:
        case KAnonymity(k=k):
            best = f"k = {k:,}, but the table has only {count(len(counts), 'person')}"
            return len(counts) >= k, best
        case LDiversity(kind="distinct", l=l):
            best = f"l = {l:,}, but the column has only {count(len(counts), 'value')}"
            return len(counts) >= l, best
        case PersonShare(k=k):
            best = f"1/{k}, but one person has {most / rows:.4g} of all rows"
            return most * k <= rows, best
        case LDiversity(kind="frequency", l=l):
            return most * int(l) <= rows, f"l = {l:,}, but at most {rows / most:.4g} is possible"
        case LDiversity(kind="entropy", l=l):
            entropy = math.log(rows) - float(counts @ np.log(counts)) / rows
            best = f"l = {float(l):g}, but at most {math.exp(entropy):.4g} is possible"
            return entropy >= math.log(l) - 1e-9, best
        case LDiversity(l=l, c=c):
            rest = int(np.sort(counts)[::-1][int(l) - 1 :].sum())
            if not rest:
                return False, f"l = {l:,}, but the column has only {count(len(counts), 'value')}"
            best = f"c = {float(c or 0):g}, but c must be above {most / rest:.4g}"
            return most < exactly(c or 0.0) * rest, best
        case AlphaK(alpha=alpha):
            best = f"alpha = {float(alpha):g}, but it must be at least {most / rows:.4g}"
            return most <= exactly(alpha) * rows, best
        case _:
            return True, ""  # the whole table has its own distribution


# ── sizes ───────────────────────────────────────────────────────────────────────────────────────


def _least_rows(requirement: Requirement, column: Coded) -> int:
    match requirement:
        case KAnonymity(k=k) | PersonShare(k=k):
            return k
        case LDiversity(kind="recursive", l=l, c=c):  # best if every value occurs once
            return int(l) + math.floor(1 / exactly(c or 1.0))
        case LDiversity(l=l):
            return math.ceil(exactly(l))
        case AlphaK(alpha=alpha) if column.bound_by(requirement).all():
            return math.ceil(1 / exactly(alpha))
        case DeltaDisclosure():  # every group has every value
            return max(
                _rows_around_rare(requirement, column), int(np.count_nonzero(column.in_table))
            )
        case _:
            return 1


def _rows_around_rare(requirement: Requirement, column: Coded) -> int:
    occurring = column.in_table[column.bound_by(requirement) & (column.in_table > 0)]
    if not occurring.size:
        return 1
    rarest = Fraction(int(occurring.min()), column.table_rows)
    match requirement:
        case AlphaK(alpha=alpha):
            return math.ceil(1 / exactly(alpha))
        case TCloseness(t=t):  # what exceeds the share of the value moves to the nearest one
            return math.ceil(1 / (exactly(t) / _nearest(requirement, column) + rarest))
        case BetaLikeness(beta=beta, enhanced=enhanced):
            most = -math.log(rarest)
            gain = Fraction(most) if enhanced and most < beta else exactly(beta)
            return math.ceil(1 / (rarest * (1 + gain)))
        case DeltaDisclosure(delta=delta):
            ratio = math.exp(min(float(delta), _BEYOND_ALL_RATIOS))
            return math.floor(1 / (float(rarest) * ratio)) + 1
        case _:
            return _least_rows(requirement, column)


def _nearest(requirement: TCloseness, column: Coded) -> Fraction:
    """The least distance of two values, of which the largest is 1."""
    if requirement.distance == "ordered":
        return Fraction(1, max(len(column.known) - 1, 1))
    if requirement.distance == "hierarchical" and column.tree is not None:
        return Fraction(1, max(column.tree.height, 1))
    return Fraction(1)


@dataclass(frozen=True, eq=False)
class _Levelling:
    """Rows removed one by one, always from the value that is then the most frequent.

    Entry r of each array is the state after r removals.
    """

    counts: Longs
    rows: Longs  # remaining, of all values
    heights: Longs  # the count of the most frequent value

    @classmethod
    def of(cls, counts: Longs, total: int) -> "_Levelling":
        """Start from these counts, in a table of `total` rows."""
        most = int(counts.max(initial=0))
        levels = np.arange(most, -1, -1)
        having = len(counts) - np.searchsorted(np.sort(counts), levels[:-1])
        heights = np.repeat(levels, np.append(having, 1))
        return cls(counts, total - np.arange(len(heights)), heights)

    def levelled(self, removed: int) -> Longs:
        """The number of rows of each value among the first `removed`."""
        level = int(self.heights[removed])
        rest = np.minimum(self.counts, level)
        before = int((self.counts - rest).sum())
        rest[np.flatnonzero(self.counts >= level)[: removed - before]] -= 1
        return self.counts - rest

    def may_keep(self, requirement: Requirement) -> Flags:
        """The numbers of removals that may meet a requirement; rounding may admit too many."""
        slack = 1 + 1e-9
        match requirement:
            case LDiversity(kind="frequency", l=l) | PersonShare(k=l):
                return self.heights * float(l) <= self.rows * slack
            case AlphaK(alpha=alpha):
                return self.heights <= float(alpha) * self.rows * slack
            case LDiversity(kind="entropy", l=l):
                return self._entropies >= math.log(l) - 1e-6
            case LDiversity(kind="recursive", l=l, c=c):
                rest = self.rows - self._largest(int(l) - 1)
                return self.heights < float(c or 0.0) * rest * slack
            case _:
                return np.zeros(len(self.rows), dtype=np.bool_)  # removing rows does not help

    @property
    def _entropies(self) -> Floats:
        weights = self.heights * np.log(np.maximum(self.heights, 1))
        below = (self.heights - 1) * np.log(np.maximum(self.heights - 1, 1))
        whole = float(self.counts @ np.log(np.maximum(self.counts, 1)))
        sums = whole - np.concatenate([[0.0], np.cumsum(weights - below)[:-1]])
        rows = np.maximum(self.rows, 1)
        return np.log(rows) - sums / rows

    def _largest(self, number: int) -> Longs:
        """The number of rows of the `number` most frequent values."""
        level = np.concatenate([[0], np.cumsum(np.diff(self.heights) != 0)])
        last = np.append(np.flatnonzero(np.diff(self.heights)), len(self.heights) - 1)
        having = last[level] - np.arange(len(level)) + 1  # values that still have this count
        falls = np.cumsum(having <= number)
        whole = int(np.sort(self.counts)[::-1][:number].sum())
        return whole - np.concatenate([[0], falls[:-1]])


# ── rules ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class _Rule:
    """A requirement on a column of so many values, as `Rules` has it."""

    column: int
    kind: RuleKind
    figure: float
    values: int
    factor: float = 0.0
    bounds: Floats = field(default_factory=lambda: np.empty((2, 0)))  # highest, lowest
    tree: "_Edges | None" = None


@dataclass(frozen=True, eq=False)
class _Edges:
    """A taxonomy as edges, for distances: every node except the root has an edge above it.

    An edge counts half the height that it spans, so the distance of two leaves is the height of
    their lowest common ancestor.
    """

    above: Ints  # (values, depths)
    share: Floats  # (nodes,)
    span: Floats  # (nodes,)
    height: int  # of the tree


def _rule(  # noqa: C901, PLR0911 - one case a model
    requirement: Requirement, place: int, column: Coded
) -> _Rule:
    shares, number, rows = column.shares, len(column.known), column.table_rows
    match requirement:
        case KAnonymity(k=k):
            return _Rule(place, RuleKind.DISTINCT, k, number)
        case LDiversity(kind="distinct", l=l):
            return _Rule(place, RuleKind.DISTINCT, float(l), number)
        case LDiversity(kind="frequency", l=l) | PersonShare(k=l):
            return _Rule(
                place, RuleKind.SHARES, float(l), number, bounds=_at_most(1 / float(l), number)
            )
        case LDiversity(kind="entropy", l=l):
            return _Rule(place, RuleKind.ENTROPY, math.log(l), number)
        case LDiversity(l=l, c=c):
            factor = float(reachable(c or 0.0, rows)[1])
            return _Rule(place, RuleKind.RECURSIVE, float(l), number, factor=factor)
        case AlphaK(alpha=alpha):
            most = float(reachable(alpha, rows)[0])
            high = np.where(column.bound_by(requirement), most, 1.0)
            return _Rule(place, RuleKind.SHARES, most, number, bounds=_at_most(high, number))
        case BetaLikeness(beta=beta, enhanced=enhanced):
            gain = float(reachable(beta, rows**2)[0])
            gains = np.minimum(gain, -np.log(shares)) if enhanced else gain
            bounds = _at_most(shares * (1 + gains), number)
            return _Rule(place, RuleKind.SHARES, gain, number, bounds=bounds)
        case DeltaDisclosure(delta=delta):
            ratio = math.exp(min(float(delta), _BEYOND_ALL_RATIOS))
            bounds = np.stack([shares * ratio, shares / ratio])
            return _Rule(place, RuleKind.BETWEEN, number, number, bounds=bounds)
        case TCloseness(t=t, distance="ordered"):
            line = np.cumsum(shares)
            sums = np.concatenate([[0.0], np.cumsum(line)[:-1]])
            furthest = float(reachable(t, rows**2 * max(number - 1, 1))[0])
            return _Rule(place, RuleKind.ORDERED, furthest, number, bounds=np.stack([line, sums]))
        case TCloseness(t=t, distance="hierarchical"):
            edges = _edges(column)
            furthest = float(reachable(t, 2 * rows**2 * edges.height)[0])
            return _Rule(place, RuleKind.TREE, furthest, number, tree=edges)
        case TCloseness(t=t):
            furthest = float(reachable(t, rows**2)[0])
            return _Rule(place, RuleKind.EQUAL, furthest, number, bounds=_at_most(shares, number))


def _at_most(high: float | Floats, values: int) -> Floats:
    """Bounds of the shares of each value from above only."""
    return np.stack([np.full(values, high), np.zeros(values)])


def _keeps(rule: _Rule, counts: Longs) -> bool:
    """Whether one group with so many rows of each value keeps a rule about the whole table."""
    share, (high, low) = counts / counts.sum(), rule.bounds
    match rule.kind:
        case RuleKind.SHARES:
            return bool((share <= high * _ROOM).all())
        case RuleKind.BETWEEN:
            return bool(((share * _ROOM <= high) & (share >= low * _ROOM)).all())
        case RuleKind.EQUAL:
            distance = np.maximum(share - high, 0.0).sum()
        case RuleKind.ORDERED:
            distance = abs(np.cumsum(share) - high)[:-1].sum() / max(rule.values - 1, 1)
        case _:
            assert rule.tree is not None
            there = np.zeros(len(rule.tree.share))
            for above in rule.tree.above.T:
                np.add.at(there, above[above >= 0], share[above >= 0])
            distance = abs(there - rule.tree.share) @ rule.tree.span
    return bool(distance <= rule.figure * _ROOM)


_ROOM = 1 + 1e-12  # for rounding, as in the kernels

# A ratio of two shares cannot be larger than e to this power in any table.
_BEYOND_ALL_RATIOS = 700.0


def reachable(bound: Number, parts: int) -> tuple[Fraction, Fraction]:
    """The nearest fractions below and above a bound with a denominator of at most `parts`.

    Only such fractions occur in a table, so a bound at the first of them is the same as the given
    one, to the last digit. Kernels compute with floats, which cannot distinguish 2/3 from
    0.6666666666666666, but fractions with small denominators are far enough apart.
    """
    exact = exactly(bound)
    if exact.denominator <= parts:
        return exact, exact
    # Convergents of the continued fraction; the last two enclose it (as in `limit_denominator`).
    p0, q0, p1, q1 = 0, 1, 1, 0
    n, d = exact.numerator, exact.denominator
    while q0 + n // d * q1 <= parts:
        whole = n // d
        p0, q0, p1, q1 = p1, q1, p0 + whole * p1, q0 + whole * q1
        n, d = d, n - whole * d
    more = (parts - q0) // q1
    low, high = sorted((Fraction(p0 + more * p1, q0 + more * q1), Fraction(p1, q1)))
    return low, high


def _edges(column: Coded) -> _Edges:
    tree, leaves = column.tree, column.leaves
    assert tree is not None
    assert leaves is not None
    height = max(tree.height, 1)
    parents = tree.parent
    span = np.zeros(len(parents))
    inner = parents >= 0
    span[inner] = (tree.subheight[parents[inner]] - tree.subheight[inner]) / (2 * height)
    above = tree.ancestors[leaves, 1:]
    share = np.zeros(len(parents))
    for depth in range(above.shape[1]):
        known = above[:, depth] >= 0
        np.add.at(share, above[known, depth], column.shares[known])
    return _Edges(above, share, span, height)


def _bundle(drafts: Sequence[_Rule]) -> Rules:
    """Join rules, one after the other."""
    sizes = [draft.bounds.shape[1] for draft in drafts]
    trees = [draft.tree for draft in drafts if draft.tree is not None]
    depths = max((tree.above.shape[1] for tree in trees), default=0)
    leaf, node, above = [], 0, [np.empty((0, depths), dtype=np.int32)]
    for draft in drafts:
        leaf.append(sum(map(len, above)))
        if draft.tree is not None:
            padded = np.full((draft.values, depths), -1, dtype=np.int32)
            known = draft.tree.above
            padded[:, : known.shape[1]] = np.where(known >= 0, known + node, -1)
            above.append(padded)
            node += len(draft.tree.share)
    begin = np.cumsum([0, *sizes])
    places = [
        (draft.column, draft.kind, draft.values, begin[i], leaf[i])
        for i, draft in enumerate(drafts)
    ]
    # Last, the distance of an empty group over the tree.
    figures = [
        (draft.figure, draft.factor, draft.tree.share @ draft.tree.span if draft.tree else 0.0)
        for draft in drafts
    ]
    return Rules(
        places=np.array(places, dtype=np.int64).reshape(-1, 5),
        asked=np.array(figures, dtype=np.float64).reshape(-1, 3),
        bounds=np.concatenate([np.empty((2, 0)), *(draft.bounds for draft in drafts)], axis=1),
        above=np.concatenate(above),
        nodes=np.concatenate(
            [np.empty((2, 0)), *(np.stack([tree.share, tree.span]) for tree in trees)], axis=1
        ),
    )


def no_rules() -> Rules:
    """Rules without any constraint."""
    return _bundle([])
