"""Categorical quasi-identifiers: values are leaves of a tree; missing is a leaf under its root.

A group shows the lowest common ancestor of its members, or the set of their values.
"""

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey._core.arrays import Floats, Ints, Longs
from covey.encoding.attributes import Attribute, Mask, Shown, Style
from covey.encoding.groups import Groups, Rings
from covey.encoding.lookups import as_labels, lookup
from covey.errors import TableError, TaxonomyError, UsageError, about_cells, count
from covey.schema import Column, TaxonomyBuilder, labels
from covey.schema.taxonomy import ROOT, Measure, Taxonomy
from covey.tables import formulas
from covey.tables.csv_files import Dialect

MISSING_LEAF = ""


@dataclass(frozen=True, eq=False, repr=False)
class Category(Attribute):
    """A categorical column; its values are leaves of its tree."""

    tree: Taxonomy  # with a leaf for missing, if cells are missing

    @classmethod
    def in_tree(cls, name: str, column: Column, cells: pl.Series, tree: Taxonomy) -> "Category":
        """Find the leaves of labels, null if missing; refuse labels that the tree does not have."""
        leaf_of = {label: leaf for leaf, label in enumerate(tree.leaves)}

        def leaves(texts: list[str]) -> Ints:
            return np.array([leaf_of.get(text, -1) for text in texts], dtype=np.int32)

        # The leaf of missing is the last.
        codes = lookup(as_labels(cells), leaves, tree.leaf_count - 1)
        if (codes < 0).any():
            refuse_uncovered(name, cells.cast(pl.String), tree)
        return cls(name, column, codes, tree)

    @property
    def leaves(self) -> Ints:
        """The leaf of each row."""
        return self.values

    @property
    def width(self) -> float:
        """The distance from the first leaf to the last."""
        return self.tree.leaf_count - 1

    @property
    def absent(self) -> Mask:
        """The rows with a missing value."""
        return np.equal(self.leaves, self.tree.node_of.get(MISSING_LEAF, -1))

    @property
    def counts_leaves(self) -> bool:
        """Whether the number of values under a label depends on the people in the table."""
        return self.column.has_own_tree and self.tree.height > 1

    @cached_property
    def places(self) -> Longs:
        """The leaves, in the order of their tree."""
        return self.leaves.astype(np.int64)

    def typical(self, block: Longs, blocks: int) -> Ints:
        """The most frequent leaf of each block; the first one if several are."""
        width = int(self.leaves.max()) + 1
        pairs, often = np.unique(block * width + self.leaves, return_counts=True)
        own, leaf = np.divmod(pairs, width)
        order = np.lexsort((-leaf, often, own))
        found = np.full(blocks, -1, dtype=np.int32)
        found[own[order]] = leaf[order]  # the last assignment for a block wins
        return found

    def fold(self, groups: Groups | Rings) -> "Nodes":
        """The lowest common ancestor of each group.

        Leaves are in the order of their tree, so the first and last leaf of a group have the same
        lowest common ancestor as all its leaves. The leaf for missing comes last; it is ignored if
        missing matches any value.
        """
        ancestors = self.tree.ancestors
        first = groups.fold(np.minimum, self.leaves)
        last = groups.fold(np.maximum, np.where(self.matches_anything, -1, self.leaves))
        last = np.maximum(first, last)
        shared = (ancestors[first] == ancestors[last]) & (ancestors[first] >= 0)
        return Nodes(self, ancestors[first, shared.sum(axis=1) - 1])

    def parse(self, cells: Sequence[pl.Series], dialect: Dialect) -> "Nodes":
        """Read released labels and sets of values."""
        if len(cells) == 2:
            raise TableError(
                f"column {self.name!r} is categorical, but the release has low and high ends for it"
            )
        written = cells[0].cast(pl.String).to_list()
        distinct = list({cell for cell in written if cell is not None})
        meant = formulas.meant(distinct, self.tree.node_of, dialect)
        nodes: dict[str | None, int | None] = {
            cell: self._node(label) for cell, label in zip(distinct, meant, strict=True)
        }
        nodes[None] = self.tree.node_of.get(MISSING_LEAF)
        unread = {c: label for c, label in zip(distinct, meant, strict=True) if nodes[c] is None}
        if unread and self.column.has_own_tree:
            inner = range(self.tree.leaf_count, len(self.tree.labels))
            known = {_meaning(self.tree.labels[node]): node for node in inner}
            nodes |= {cell: known.get(_meaning(label)) for cell, label in unread.items()}
        found = [nodes[cell] for cell in written]
        wrong = np.array([node is None for node in found], dtype=np.bool_)
        if wrong.any():
            what = "with a label that is neither in its taxonomy nor a set of its values"
            raise about_cells(TableError, self.name, wrong, what)
        return Nodes(self, np.array(found, dtype=np.int32))

    def _node(self, label: str) -> int | None:
        tree = self.tree
        if label in tree.node_of:
            return tree.node_of[label]
        members = [tree.node_of.get(value) for value in members_of(label)]
        known = [member for member in members if member is not None]
        whole = len(known) == len(members) > 0
        return tree.lowest_common_ancestor(known) if whole else None


@dataclass(frozen=True, eq=False, repr=False)
class Nodes(Shown):
    """Generalised categories: nodes of the tree of the column."""

    attribute: Category
    node: Ints

    def __len__(self) -> int:
        return len(self.node)

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """The first and last leaf that each cell covers."""
        first, end = self.places
        return first.astype(np.float64), end.astype(np.float64) - 1

    @property
    def places(self) -> tuple[Longs, Longs]:
        """The first leaf that each cell covers, and the leaf after the last."""
        tree = self.attribute.tree
        first = tree.first_leaf[self.node].astype(np.int64)
        return first, first + tree.leaves_below[self.node]

    @property
    def keys(self) -> list[NDArray[Any]]:
        """The nodes."""
        return [self.node]

    def losses(self, measure: Measure) -> Floats:
        """The loss of each node."""
        losses: Floats = self.attribute.tree.losses(measure)[self.node]
        return losses

    def render(self, groups: Groups | Rings, _dialect: Dialect, style: Style) -> list[pl.Series]:
        """Write the labels of the nodes, or the sets of values in the groups."""
        category = self.attribute
        shown = pl.Series(category.name, category.tree.labels, dtype=pl.String)
        shown = pl.select(pl.when(shown != MISSING_LEAF).then(shown)).to_series()
        cells = shown.gather(self.node)
        if style.categories == "ancestor":
            return [cells]
        if isinstance(groups, Rings):
            raise UsageError("this method cannot show sets of values; show categories as ancestors")
        return [self._as_sets(groups, cells)]

    def _as_sets(self, groups: Groups, cells: pl.Series) -> pl.Series:
        """Write sets of values instead of inner nodes.

        A set with a missing value stays the root. A set spelled like a label stays its node.
        """
        category = self.attribute
        members = pl.DataFrame({"group": groups.labels, "leaf": category.leaves})
        members = members.filter(pl.Series(~category.matches_anything))
        inner = pl.Series(np.flatnonzero(self.node >= category.tree.leaf_count))
        sets = (
            members.filter(pl.col("group").is_in(inner.implode()))
            .group_by("group")
            .agg(pl.col("leaf").unique())
        )
        spelled = cells.to_list()
        for group, leaves in sets.iter_rows():
            values = [category.tree.labels[leaf] for leaf in leaves]
            shown = spell_set(values)
            if MISSING_LEAF not in values and shown not in category.tree.node_of:
                spelled[group] = shown
        return pl.Series(cells.name, spelled, dtype=pl.String)


# ── sets of values ──────────────────────────────────────────────────────────────────────────────


def spell_set(values: Iterable[str]) -> str:
    """Write `{Bachelors, Masters}`: sorted, with quotes around values that contain its signs."""
    return "{" + ", ".join(_quoted(value) for value in sorted(values)) + "}"


def _quoted(value: str) -> str:
    if value == value.strip() and not set(value) & set('",{}\r\n'):
        return value
    return '"' + value.replace('"', '""') + '"'


def members_of(cell: str) -> list[str]:
    """The values of a set, or the cell itself if it is not a set."""
    if cell.startswith("{") and cell.endswith("}"):
        return next(csv.reader([cell[1:-1]], skipinitialspace=True), [])
    return [cell]


def _meaning(label: str) -> str:
    """A label without the differences in spelling that depend on the original values.

    The longest code decides how many stars `478**` has; with fractions among the values, `[10, 19]`
    is spelled `[10, 20)`.
    """
    whole = re.fullmatch(r"\[(-?[0-9]+), (-?[0-9]+)\]", label)
    return f"[{whole[1]}, {int(whole[2]) + 1})" if whole else label.rstrip(ROOT)


def tree_over(name: str, column: Column, known: pl.Series, dialect: Dialect) -> Taxonomy:
    """The tree of a column with these distinct labels."""
    try:
        tree = column.taxonomy_over(known.drop_nulls().sort().to_list())
    except TaxonomyError as error:
        raise TaxonomyError(f"column {name!r}: {error}") from None
    if ambiguous := set(tree.labels) & set(dialect.missing):
        raise TaxonomyError(
            f"column {name!r}: {count(len(ambiguous), 'label')} of its taxonomy also read as "
            "missing; remove them from the missing tokens of the table"
        )
    return tree


# ── refusals ────────────────────────────────────────────────────────────────────────────────────


def refuse_uncovered(name: str, cells: pl.Series, tree: Taxonomy, *, as_seen: bool = False) -> None:
    """Refuse labels that are no leaves of the tree, by their rows."""
    known = list(labels.places(tree.leaves)) if as_seen else tree.leaves
    different = cells.drop_nulls().unique()
    uncovered = different.filter(~different.is_in(pl.Series(known, dtype=pl.String).implode()))
    if uncovered.is_empty():
        return
    wrong = cells.is_in(uncovered.implode()).fill_null(value=False).to_numpy()
    what = f"with {count(len(uncovered), 'value')} not in its taxonomy"
    remedy = f"add them as leaves, or correct the rows{_spelled_otherwise(uncovered, tree)}"
    raise about_cells(TaxonomyError, name, wrong, what, remedy)


def _spelled_otherwise(uncovered: pl.Series, tree: Taxonomy) -> str:
    """Say how many values look like a leaf, and how to match them."""
    known = labels.places(tree.leaves)
    near = sum(value in known for value in labels.seen(uncovered).drop_nulls())
    if not near:
        return ""
    what = "1 of them looks like a leaf" if near == 1 else f"{near:,} of them look like leaves"
    return f"; {what}: set normalise = [...] in the schema to match"


def refuse_unfit(name: str, column: Column, cells: pl.Series) -> None:
    """Refuse values that do not fit the built taxonomy, if others do, and report their rows."""
    if not isinstance(column.taxonomy, TaxonomyBuilder):
        return
    values = cells.drop_nulls().unique()
    unfit = values.filter([not _has_place(column, value) for value in values])
    if 0 < len(unfit) < len(values):
        wrong = cells.is_in(unfit.implode()).fill_null(False).to_numpy()
        what = f"with a value that does not fit a taxonomy of {column.taxonomy.build}"
        raise about_cells(TaxonomyError, name, wrong, what, "correct them")


def _has_place(column: Column, value: str) -> bool:
    try:
        column.taxonomy_over([value])
    except TaxonomyError:
        return False
    return True
