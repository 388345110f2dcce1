"""Taxonomies: trees that say which values a label such as "Europe" or "478**" covers.

A `Taxonomy` is a rooted tree stored as flat arrays. The leaves are numbered first, in depth-first
order, so that the values under a node are consecutive; the root is the last node. A table of
ancestors by depth makes climbing unnecessary. Trees need not be balanced.
"""

import csv
import datetime
import io
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from covey.errors import TaxonomyError, count

ROOT = "*"
UNSHOWN = "\x00"  # before a label, a value under it that a release does not show: no text has it

Measure = Literal["height", "level", "ncp", "lm"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
# The cost of a node: by height, by level, by its share of the leaves, or of the other leaves.

# A tree deeper than this is a mistake or an attack, not a taxonomy.
DEEPEST = 64


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """A rooted tree over the values of one column."""

    labels: tuple[str, ...]
    parent: NDArray[np.int32]  # of each node; the root's is -1
    leaf_count: int

    @property
    def root(self) -> int:
        """The number of the root."""
        return len(self.labels) - 1

    @cached_property
    def depth(self) -> NDArray[np.int32]:
        """Edges from the root to each node."""
        depth = np.zeros(len(self.labels), dtype=np.int32)
        for node in self._downwards():
            depth[node] = depth[self.parent[node]] + 1
        return depth

    @property
    def height(self) -> int:
        """Edges on the longest path from the root to a leaf."""
        return int(self.depth.max())

    @cached_property
    def ancestors(self) -> NDArray[np.int32]:
        """`ancestors[v, d]` is the ancestor of `v` at depth `d` (`v` at its own depth), else -1."""
        table = np.full((len(self.labels), self.height + 1), -1, dtype=np.int32)
        table[self.root, 0] = self.root
        for node in self._downwards():
            table[node] = table[self.parent[node]]
            table[node, self.depth[node]] = node
        return table

    @cached_property
    def subheight(self) -> NDArray[np.int32]:
        """Edges on the longest path from each node down to a leaf."""
        height = np.zeros(len(self.labels), dtype=np.int32)
        for node in reversed(self._downwards()):
            above = self.parent[node]
            height[above] = max(height[above], height[node] + 1)
        return height

    @cached_property
    def leaves_below(self) -> NDArray[np.int32]:
        """Number of leaves under each node; a leaf counts itself."""
        leaves = np.zeros(len(self.labels), dtype=np.int32)
        leaves[: self.leaf_count] = 1
        for node in reversed(self._downwards()):
            leaves[self.parent[node]] += leaves[node]
        return leaves

    @cached_property
    def first_leaf(self) -> NDArray[np.int32]:
        """The first of the leaves under each node, which are neighbours."""
        first = np.full(len(self.labels), self.leaf_count, dtype=np.int32)
        leaves = np.arange(self.leaf_count, dtype=np.int32)
        for above in self.ancestors[: self.leaf_count].T:
            np.minimum.at(first, above[above >= 0], leaves[above >= 0])
        return first

    @cached_property
    def node_of(self) -> dict[str, int]:
        """The node of each label."""
        return {label: node for node, label in enumerate(self.labels)}

    @property
    def leaves(self) -> tuple[str, ...]:
        """The labels of the leaves."""
        return self.labels[: self.leaf_count]

    def lowest_common_ancestor(self, nodes: Iterable[int]) -> int:
        """The lowest node above all of `nodes`."""
        rows = self.ancestors[list(nodes)]
        shared = (rows == rows[0]).all(axis=0) & (rows[0] >= 0)
        return int(rows[0, np.flatnonzero(shared)[-1]])

    def losses(self, measure: Measure = "height") -> NDArray[np.float64]:
        """The loss of a cell that shows each node: 0 for a leaf, at most 1 for the root.

        - `height`: height of the node's subtree over the height of the tree (Byun et al. 2007);
        - `level`: levels between the node and the deepest leaf, likewise (Wang et al. 2022);
        - `ncp`: share of the leaves that the node covers (Xu et al. 2006);
        - `lm`: share of the *other* leaves that it covers (Iyengar 2002).

        `height` and `level` agree on trees whose leaves are all equally deep.
        """
        loss = self._share(measure)
        loss[: self.leaf_count] = 0.0
        return loss

    def _share(self, measure: Measure) -> NDArray[np.float64]:
        match measure:
            case "height":
                return self.subheight / self.height
            case "level":
                return (self.height - self.depth) / self.height
            case "ncp":
                return self.leaves_below / self.leaf_count
            case "lm":
                return (self.leaves_below - 1) / max(self.leaf_count - 1, 1)

    def with_leaf(self, label: str) -> "Taxonomy":
        """The same tree with one more leaf directly under the root, as the last leaf."""
        shift = np.where(self.parent >= 0, self.parent + 1, -1).astype(np.int32)
        return Taxonomy(
            labels=(*self.leaves, label, *self.labels[self.leaf_count :]),
            parent=np.insert(shift, self.leaf_count, self.root + 1),
            leaf_count=self.leaf_count + 1,
        )

    def with_leaves(self, labels: Sequence[str]) -> "Taxonomy":
        """The same tree with new labels for its leaves, in order."""
        renamed = (*labels, *self.labels[self.leaf_count :])
        twice = len(renamed) - len(set(renamed))
        if twice:
            raise TaxonomyError(
                f"{count(twice, 'leaf', 'leaves')} normalised to a label that already exists"
            )
        return Taxonomy(renamed, self.parent, self.leaf_count)

    def paths(self) -> Iterator[list[str]]:
        """The labels from each leaf up to the root."""
        for leaf in range(self.leaf_count):
            line = self.ancestors[leaf, self.depth[leaf] :: -1]
            yield [self.labels[node] for node in line]

    def nested(self) -> dict[str, Any]:
        """The tree as nested mappings, as `from_nested` reads them; a leaf is an empty one."""
        tree: dict[str, Any] = {}
        for path in self.paths():
            below = tree
            for label in reversed(path):
                below = below.setdefault(label, {})
        return tree

    def write_arx(self, path: str | Path) -> None:
        """Write ARX's format: for each leaf a line up to the root, all of equal length.

        The label of a leaf above the lowest level is repeated up to its level, as ARX users do.
        """
        odd = any(set(label) & set("\r\n\ufeff") for label in self.labels)
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(
                file,
                delimiter=";",
                lineterminator="\n",
                quoting=csv.QUOTE_ALL if odd else csv.QUOTE_MINIMAL,
            )
            for line in self.paths():
                writer.writerow([line[0]] * (self.height + 1 - len(line)) + line)

    def _downwards(self) -> list[int]:
        """All nodes below the root, parents first: `build` numbers inner nodes from the bottom."""
        return [*range(self.root - 1, self.leaf_count - 1, -1), *range(self.leaf_count)]


# ── building ────────────────────────────────────────────────────────────────────────────────────


def build(parent: Mapping[str, str]) -> Taxonomy:
    """Build a taxonomy from the parent of each label except the root."""
    children: dict[str, list[str]] = {}
    for child, above in parent.items():
        children.setdefault(above, []).append(child)
    root = _only_root(parent, children)
    leaves, inner = _walk(root, children)
    if len(leaves) + len(inner) <= len(parent):
        raise TaxonomyError(
            f"{count(len(parent) + 1 - len(leaves) - len(inner), 'label')} in a cycle"
        )
    labels = (*leaves, *reversed(inner))
    number = {label: node for node, label in enumerate(labels)}
    parents = [number[parent[label]] for label in labels[:-1]]
    return Taxonomy(labels, np.array([*parents, -1], dtype=np.int32), len(leaves))


def _only_root(parent: Mapping[str, str], children: Mapping[str, list[str]]) -> str:
    roots = [label for label in children if label not in parent]
    if not children:
        raise TaxonomyError("the taxonomy is empty")
    if not roots:
        raise TaxonomyError("the taxonomy is a cycle: no label is above all others")
    if len(roots) > 1:
        raise TaxonomyError(f"the taxonomy has {len(roots)} roots; it needs exactly one")
    return roots[0]


def _walk(root: str, children: Mapping[str, list[str]]) -> tuple[list[str], list[str]]:
    """Leaves and inner nodes in depth-first order, parents before their children."""
    leaves: list[str] = []
    inner: list[str] = []
    stack = [root]
    while stack:
        label = stack.pop()
        if label in children:
            inner.append(label)
            stack.extend(reversed(children[label]))
        else:
            leaves.append(label)
    return leaves, inner


def from_paths(paths: Iterable[Sequence[str]]) -> Taxonomy:
    """Build a taxonomy from lines that lead from a leaf up to the root.

    A repeated label is one node, so `Private;Private;*` puts Private directly under the root of a
    deeper tree.
    """
    parent: dict[str, str] = {}
    two_parents: set[str] = set()
    leaves: Counter[str] = Counter()
    blank, short, deepest = 0, 0, 0
    for path in paths:
        line = [label for i, label in enumerate(path) if i == 0 or label != path[i - 1]]
        blank += "" in line
        short += len(line) < 2
        deepest = max(deepest, len(line))
        leaves.update(line[:1])
        for child, above in pairwise(line):
            if parent.setdefault(child, above) != above:
                two_parents.add(child)
    _refuse(
        (blank, "line", "an empty label"),
        (sum(times > 1 for times in leaves.values()), "leaf", "more than one line"),
        (len(two_parents), "label", "two parents"),
        (len(leaves.keys() & set(parent.values())), "leaf", "other values under it"),
    )
    if short:
        raise TaxonomyError(f"{count(short, 'line')} without a root above the leaf")
    if deepest > DEEPEST:
        raise TaxonomyError(f"the taxonomy is deeper than {DEEPEST} levels")
    return build(parent)


def _refuse(*problems: tuple[int, str, str]) -> None:
    plural = {"leaf": "leaves"}
    found = [
        f"{count(number, noun, plural.get(noun))} with {what}"
        for number, noun, what in problems
        if number
    ]
    if found:
        raise TaxonomyError("; ".join(found))


def from_nested(tree: Mapping[str, Any]) -> Taxonomy:
    """Build a taxonomy from nested mappings whose innermost level is lists of values.

    A single label at the top is the root; several labels get a root `*`.
    """
    top = dict(tree)
    if len(top) != 1 or not next(iter(top.values())):
        top = {ROOT: top}
    return from_paths(_nested_paths(top))


def _nested_paths(tree: Mapping[str, Any]) -> Iterator[list[str]]:
    stack: list[tuple[list[str], Any]] = [([], tree)]
    while stack:
        above, below = stack.pop()
        if len(above) > DEEPEST:
            raise TaxonomyError(f"the taxonomy is deeper than {DEEPEST} levels")
        if isinstance(below, Mapping) and below:
            stack.extend(
                ([str(label), *above], rest) for label, rest in reversed(list(below.items()))
            )
        elif isinstance(below, list | tuple) and below:
            if any(isinstance(leaf, Mapping | list | tuple) for leaf in below):
                raise TaxonomyError("a list in a nested taxonomy may contain only values, no trees")
            stack.extend(([str(leaf), *above], None) for leaf in reversed(below))
        elif not below:
            yield above
        else:
            raise TaxonomyError("a nested taxonomy may contain only tables and lists of values")


def read_arx(path: str | Path) -> Taxonomy:
    """Read ARX's format: no header, `leaf;level 1;…;root` in each line, separated by `;` or `,`."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            text = file.read()
    except OSError as error:
        raise TaxonomyError(f"the taxonomy file cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TaxonomyError("the taxonomy file is not UTF-8") from None
    except ValueError:
        raise TaxonomyError("the taxonomy file cannot be read: the path is not valid") from None
    readings = [rows for sign in (";", ",") if (rows := _rows(text, sign)) is not None]
    if not readings:
        raise TaxonomyError("the taxonomy file is not well-formed CSV")
    # The character that splits the first line is the delimiter; the other one belongs to labels.
    return from_paths(next((rows for rows in readings if rows and len(rows[0]) > 1), readings[0]))


def _rows(text: str, delimiter: str) -> list[list[str]] | None:
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        return [row for row in lines if row]
    except csv.Error:
        return None


def flat(values: Iterable[str]) -> Taxonomy:
    """All values directly under one root; only the root if there are no values."""
    leaves = sorted(set(values))
    if not leaves:
        return Taxonomy((ROOT,), np.array([-1], dtype=np.int32), 0)
    return build(dict.fromkeys(leaves, _root_above(leaves)))


def _root_above(leaves: Iterable[str]) -> str:
    """The root label: `*`, or more stars if that is a value, as in a table released before."""
    values, root = set(leaves), ROOT
    while root in values:
        root += ROOT
    return root


def intervals(values: Iterable[str], widths: Sequence[float], origin: float = 0) -> Taxonomy:
    """Group numbers into intervals of each width, from `origin`; each width divides the next."""
    steps, zero = [_exact(width) for width in widths], _exact(origin)
    nested = all(wide > narrow > 0 and wide % narrow == 0 for narrow, wide in pairwise(steps))
    if not steps or steps[0] <= 0 or not nested:
        raise TaxonomyError("interval widths must increase, each a multiple of the one before")
    numbers = {value: _exact(value) for value in values}
    whole = all(number.denominator == 1 for number in (*numbers.values(), *steps, zero))
    return from_paths(
        [value, *(_interval(numbers[value], step, zero, whole=whole) for step in steps), ROOT]
        for value in sorted(numbers, key=lambda value: (numbers[value], value))
    )


# A number with a longer exponent is no fact about people, and would take forever to write out.
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


def _exact(value: str | float) -> Fraction:
    """The exact decimal number, so that 0.3 is a multiple of 0.1."""
    if _NUMBER.fullmatch(str(value)) and math.isfinite(float(value)):
        return Fraction(str(value))
    raise TaxonomyError("intervals need a column of numbers and numeric widths")


def _interval(number: Fraction, width: Fraction, origin: Fraction, *, whole: bool) -> str:
    low = origin + (number - origin) // width * width
    if whole:
        return f"[{low}, {low + width - 1}]"
    return f"[{_digits(low)}, {_digits(low + width)})"


def _digits(number: Fraction) -> str:
    return f"{Decimal(number.numerator) / Decimal(number.denominator):f}"


def prefixes(values: Iterable[str], lengths: Sequence[int] | None = None) -> Taxonomy:
    """Shorten codes from the right, step by step, as ZIP codes: 47803, 4780*, 478**.

    `lengths` lists the prefixes to keep; by default, every length is a level.
    """
    leaves = sorted(set(values))
    longest = max(map(len, leaves), default=0)
    kept = sorted(lengths, reverse=True) if lengths is not None else range(longest - 1, 0, -1)
    levels = [length for length in kept if 0 < length < longest]
    root = _root_above(leaves)
    return from_paths(
        [v, *(v[:length] + ROOT * (longest - length) for length in levels), root] for v in leaves
    )


def dates(values: Iterable[str]) -> Taxonomy:
    """Group days into months, quarters and years."""
    return from_paths(_calendar(value) for value in sorted(set(values)))


def _calendar(value: str) -> list[str]:
    try:
        day = datetime.datetime.strptime(value, "%Y-%m-%d").date()
        if day.isoformat() != value:
            raise ValueError
    except ValueError:
        raise TaxonomyError("a taxonomy of dates needs dates in the form 2024-05-31") from None
    quarter = f"{day:%Y}-Q{(day.month + 2) // 3}"
    return [value, f"{day:%Y-%m}", quarter, f"{day:%Y}", ROOT]
