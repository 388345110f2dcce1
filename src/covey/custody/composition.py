"""Composition: what an adversary learns from several releases of the same people combined.

In one release a person hides among everyone in the class of her row. An adversary who also has
another release of that row keeps only the people who are in both classes. This intersection is all
that is left to hide among, and a sensitive value is possible only if both classes show it.

Only the people of the new release are counted. covey follows rows, not persons: two rows of a
person in one release are different records, and nothing in the release links them, but a record
that is released twice is the same record. So the candidates of a row are the persons with a row in
the same class, both in the new release and in each earlier one that contains the row. If persons
are counted, a person is as safe as the least safe of her rows. One release alone then gives exactly
its own k. Counting persons who have a row in each of her classes would find fewer than k in a
single release; counting persons in any of these classes would miss rows that are exposed. A row
that is missing from an earlier release is matched to another row of the same person, if there is
one.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from covey._core.arrays import Longs
from covey.custody.footprints import NOBODY, ClassValues, Footprint, are_unique
from covey.custody.hashes import ODD, Hashes, mixed
from covey.errors import count, percent

if TYPE_CHECKING:
    from covey.custody.stored import Stored

ABSENT = -1
SEPARATE = (
    "If they are about other people, keep a register for each group of people (--register FILE). "
    "If they are about the same people, give them an identifier in every release"
)
LOST = (
    "No other release could hide these people among more: of their earlier classes, fewer than k "
    'people are still here. They can only be left out (composition = "follow")'
)
Demand = Literal["warn", "refuse", "follow", "follow with the shrunk", "only-new"]
_Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Certain:
    """The share of people whose value of a sensitive column is certain."""

    column: str
    alone: float  # by the new release
    together: float


@dataclass(frozen=True)
class Composition:
    """The protection that remains when the new release is combined with earlier ones.

    Shares are shares of the people in the new release, or of its rows if persons are not counted.
    """

    k: int
    compared: int = 0  # earlier releases that were compared with it
    earlier: int = 0  # those of them that share people with it
    incomparable: tuple[str, ...] = ()  # releases that may or may not share people with it
    shared: float = 0.0  # people who are also in an earlier release
    fewest: int | None = None  # candidates; None if no one is shared
    median: int | None = None  # half of the people have as many candidates or more
    below_k: float = 0.0  # people with fewer than k candidates
    alone: float = 0.0  # people with one candidate
    # People with fewer than k others of the same releases and classes, if there are sensitive
    # values: what a class shows more or less than before may be theirs.
    apart: float = 0.0
    exposed: int = 0  # people with fewer than k candidates
    # Those of them whom no new release could hide: too many of their earlier classes have left.
    lost: int = 0
    certain: tuple[Certain, ...] = ()
    delete: tuple[str, ...] = ()  # earlier releases to delete so that the new one meets its k

    @property
    def has_k(self) -> bool:
        """Whether everyone has k candidates in all releases combined."""
        return self.fewest is None or self.fewest >= self.k

    @property
    def all_lost(self) -> bool:
        """Whether some have fewer than k candidates, but only those whom nothing could hide."""
        return 0 < self.exposed == self.lost

    def meets(self, demand: "Demand") -> bool:
        """Whether this is enough."""
        match demand:
            case "warn":
                return True
            case "refuse":
                return self.holds
            case "follow":
                return self.has_k
            case "follow with the shrunk":
                return self.exposed == self.lost
            case "only-new":
                return self.earlier == 0

    @property
    def holds(self) -> bool:
        """Whether all releases combined reveal no more than the new one alone."""
        return self.has_k and all(one.together <= one.alone for one in self.certain)

    def warnings(self) -> tuple[str, ...]:
        """What the custodian should check before publishing this release."""
        why = f". {LOST}" if self.all_lost else ""
        found = [] if self.holds else [f"{self.figures()}{why}. {self.remedy()}"]
        if self.has_k and self.apart:
            found.append(
                f"{percent(self.apart)} of the people came into the classes of others with fewer "
                f"than k = {self.k:,} new ones: who compares a class before and after may find "
                "their sensitive values. If others may know who is new, release new people by "
                "themselves"
            )
        return (*found, f"{self.unknown()}. {SEPARATE}") if self.incomparable else (*found,)

    def summary(self) -> str:
        """How many earlier releases were compared with this one; nothing if there are none."""
        every = self.compared + len(self.incomparable)
        if not every:
            return ""
        found = [f"{self.earlier:,} with people of this one"]
        if self.incomparable:
            found.append(f"{len(self.incomparable):,} could not be compared")
        if self.earlier and self.holds:
            found.append(
                f"together, everyone still has at least {self.fewest:,} candidates, and half of "
                f"the people {self.median:,} or more"
            )
        return f"{count(every, 'earlier release')} in the register: {'; '.join(found)}"

    def remedy(self) -> str:
        """What can be done about earlier releases that weaken this one."""
        return (
            f"Do not publish this release, or first withdraw {', '.join(self.delete)} wherever "
            f"published (`covey releases` lists all). {self.forgotten()}"
        )

    def forgotten(self) -> str:
        """Which earlier releases may be forgotten: only those that no one else has."""
        return (
            "What others may have cannot be withdrawn; if no one else has them: covey forget "
            f"{' '.join(self.delete)}"
        )

    def unknown(self) -> str:
        """Say how many releases could not be compared, which, and why."""
        return (
            f"{count(len(self.incomparable), 'earlier release')} could not be compared with this "
            f"one ({', '.join(self.incomparable)}): made with a different key, with a method that "
            "forms no classes of equal rows, with too many rows, or with too few common columns to "
            "recognise people"
        )

    def limit(self) -> str:
        """How earlier releases weaken this one, in the few words of a headline."""
        others = f"together with {count(self.earlier, 'earlier release')} of the same people, "
        if self.all_lost:
            few = self.exposed < self.k
            exposed = f"fewer than {self.k:,}" if few else f"{self.exposed:,}"
            return (
                f"{others}{exposed} of them have fewer than {self.k:,} candidates, as too few of "
                "their classes are still here"
            )
        if self.below_k:
            return f"{others}{percent(self.below_k)} of them have fewer than {self.k:,} candidates"
        names = ", ".join(one.column for one in self.certain if one.together > one.alone)
        return f"{others}the value of {names} is certain for more of them"

    def figures(self) -> str:
        """Describe the remaining protection in a sentence."""
        values = "".join(
            f"; the value of {one.column!r} is certain for {percent(one.together)} "
            f"(by this release alone for {percent(one.alone)})"
            for one in self.certain
            if one.together > one.alone
        )
        return (
            f"together with {count(self.earlier, 'earlier release')} of the same people, "
            f"{percent(self.below_k)} of the people have fewer than k = {self.k:,} candidates "
            f"(fewest {self.fewest:,}) and {percent(self.alone)} exactly one{values}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists; figures are rounded, and no count is below k."""
        few = {name: None for name in ("exposed", "lost") if 0 < getattr(self, name) < self.k}
        fewer_than = self.k if few else None
        figures = json.dumps({"holds": self.holds, **asdict(self), **few, "fewer_than": fewer_than})
        found: dict[str, Any] = json.loads(figures, parse_float=lambda text: round(float(text), 4))
        return found


def compose(
    new: Footprint,
    earlier: Iterable[tuple[Sequence[str], "Stored"]],
    *,
    incomparable: Sequence[str] = (),
) -> Composition:
    """Combine a new release with earlier ones, each given with the names of all its copies."""
    layers: list[_Layer] = []
    unknown, compared = list(incomparable), 0
    for names, old in earlier:
        classes = matched(new, old.near(new))
        if classes is None and not old.is_unrelated(new):
            unknown += names
            continue
        compared += 1
        if classes is not None and (classes != ABSENT).any():
            layers.append(_Layer(names, classes, old.values_of(classes)))
    k = new.k
    blank = Composition(k, compared=compared, incomparable=tuple(unknown))
    if not layers:
        return blank
    others = [layer.classes for layer in layers]
    found = candidates(new.classes, others, new.persons)
    share, below, known = _sharing(new), found < k, found[_somebody(new)]
    alike = np.zeros(new.rows, dtype=np.int64)  # as if the new release had one class
    most = candidates(alike, others, new.persons)
    certain = {column: values.sizes[new.classes] == 1 for column, values in new.values.items()}
    composed = replace(
        blank,
        earlier=len(layers),
        shared=share(np.any([one != ABSENT for one in others], axis=0)),
        fewest=int(known.min()),
        median=int(np.median(known)),
        below_k=share(below),
        exposed=_number(new, below),
        lost=_number(new, below & (most < k)),
        alone=share(found == 1),
        apart=share(_same_trace(new, layers) < k) if new.values else 0.0,
        certain=tuple(
            Certain(column, share(certain[column]), share(certain[column] | (left == 1)))
            for column, left in _values_left(new, layers)
        ),
    )
    return composed if composed.holds else replace(composed, delete=_to_delete(new, layers))


# ── which row of an earlier release is which ────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class _Layer:
    """An earlier release, seen from the rows of the new one."""

    names: Sequence[str]
    classes: Longs  # the class of each row of the new release, or ABSENT
    values: dict[str, ClassValues]


def matched(new: Footprint, old: Footprint) -> Longs | None:
    """The class of each row of the new release in the old one; None if people are unrecognisable.

    People are recognised by the identifiers that both releases have, or, if there are none, by all
    other common columns. If a person has several rows, rows with equal cells are matched first, and
    the rest are matched in order.
    """
    classes = np.full(new.rows, ABSENT, dtype=np.int64)
    columns, common = telling(new, old), sorted(new.content.keys() & old.content.keys())
    ours, theirs = together(new, columns), together(old, columns)
    if columns and not old.renumbered and are_unique(ours) and are_unique(theirs):
        _match(classes, old.classes, _rows(ours), _rows(theirs))
        return classes
    enough = tell_apart(new, common) and tell_apart(old, common)
    if not columns and not enough:
        return None
    somebody, known = ours != NOBODY, theirs != NOBODY
    whole = ours + new.hashes_of(common) * ODD, theirs + old.hashes_of(common) * ODD
    same = _match(
        *(classes, old.classes),
        _rows(whole[0], somebody | enough),  # a row without identifiers is matched by other cells
        _rows(whole[1], known | enough),
    )
    known[same] = False
    named = _match(
        *(classes, old.classes),
        _rows(ours, somebody & (classes == ABSENT)),
        _rows(theirs, known),
    )
    if old.renumbered:
        left = np.ones(old.rows, dtype=np.bool_)
        left[same] = left[named] = False
        cells = _rows(new.hashes_of(common), classes == ABSENT)
        _match(classes, old.classes, cells, _rows(old.hashes_of(common), left))
    return classes


def tell_apart(some: Footprint, columns: Sequence[str]) -> bool:
    """Whether these columns distinguish at least half as many rows as all columns do."""
    if len(columns) == (len(some.content) if some.columns is None else some.columns):
        return bool(columns)
    return bool(columns) and 2 * _different(some.hashes_of(columns)) >= _different(
        some.hashes_of(list(some.content))
    )


def _different(hashes: Hashes) -> int:
    return pl.Series(hashes).n_unique()


def telling(new: Footprint, old: "Footprint | Stored") -> list[str]:
    """The columns by which people are recognised.

    The person column if persons are counted; else a column with a different value in every row,
    such as a code; else all common identifiers, because two people may share a name or a birthday.
    """
    common = [name for name in new.who if name in old.who]
    persons = [name for name in (new.person, old.person) if name in common]
    codes = [name for name in common if name in new.codes and name in old.codes]
    return (persons or codes)[:1] or common


def together(some: Footprint, columns: Sequence[str]) -> Hashes:
    """Several identifiers as one hash; a row that has none of them is NOBODY."""
    if len(columns) == 1:
        return some.who[columns[0]]
    if not columns:
        return np.full(some.rows, NOBODY, dtype=np.uint64)
    known = np.any([some.who[name] != NOBODY for name in columns], axis=0)
    cells = _cells([some.who[name] for name in columns], some.rows)
    return np.where(known, cells, np.uint64(NOBODY))


def _match(classes: Longs, known: Longs, ours: pl.DataFrame, theirs: pl.DataFrame) -> Longs:
    """Fill in the classes of our rows that are found in theirs; return the rows found."""
    pairs = ours.join(theirs, on="hash", suffix=" found")
    found = pairs["row found"].to_numpy()
    classes[pairs["row"].to_numpy()] = known[found]
    return found


def _rows(hashes: Hashes, which: _Mask | None = None) -> pl.DataFrame:
    """Some rows with their hashes, made unique."""
    rows = np.arange(len(hashes)) if which is None else np.flatnonzero(which)
    return pl.DataFrame({"row": rows, "hash": _numbered(hashes[rows])})


def _numbered(hashes: Hashes) -> Hashes:
    """Make hashes unique: the second of two equal ones gets a new value, and so on."""
    numbered = hashes.copy()
    repeated = np.flatnonzero(pl.Series(hashes).is_duplicated().to_numpy())
    some = pl.DataFrame({"hash": hashes[repeated]})
    number = some.select(pl.int_range(pl.len()).over("hash")).to_series().to_numpy()
    numbered[repeated] += number.astype(np.uint64) * (ODD + np.uint64(2))
    return numbered


# ── what remains of the classes ─────────────────────────────────────────────────────────────────


def candidates(classes: Longs, layers: Sequence[Longs], persons: Longs | None) -> Longs:
    """For each row, count the people in all of its classes.

    These are its class in the new release and in each layer that contains the row. Rows contained
    in the same layers are processed together.
    """
    found = np.zeros(len(classes), dtype=np.int64)
    held = _cells([layer != ABSENT for layer in layers], len(classes))
    for pattern in np.unique(held):
        mine = held == pattern
        one = int(np.argmax(mine))
        holding = [layer for layer in layers if layer[one] != ABSENT]
        rows = np.flatnonzero(_present(classes, mine, holding))
        cells = _cells([layer[rows] for layer in (classes, *holding)], len(rows))
        inside = mine[rows]
        found[rows[inside]] = _people(cells, None if persons is None else persons[rows])[inside]
    return found


def _same_trace(new: Footprint, layers: Sequence[_Layer]) -> Longs:
    """For each row, count the people who are in the same releases and in the same classes there."""
    labels = [new.classes, *(layer.classes for layer in layers)]
    return _people(_cells(labels, new.rows), new.persons)


def _present(classes: Longs, mine: _Mask, layers: Sequence[Longs]) -> _Mask:
    """The rows that share a class with `mine` and are in all layers."""
    touched = np.zeros(int(classes.max()) + 1, dtype=np.bool_)
    touched[classes[mine]] = True
    present: _Mask = touched[classes]
    for layer in layers:
        present = present & (layer != ABSENT)
    return present


def _cells(labels: Sequence[NDArray[Any]], rows: int) -> Hashes:
    """Give rows with the same labels the same number, and different rows different numbers.

    The numbers are hashes: consecutive numbers would need a sort for each layer.
    """
    cells = np.zeros(rows, dtype=np.uint64)
    for one in labels:
        cells = mixed(cells + mixed(one.astype(np.uint64)))
    return cells


def _people(cells: Hashes, persons: Longs | None) -> Longs:
    """Count the people in the cell of each row."""
    frame = pl.DataFrame({"cell": cells})
    if persons is None:
        return frame.select(pl.len().over("cell"))["len"].to_numpy().astype(np.int64)
    frame = frame.with_columns(person=persons)
    counted = frame.filter(pl.col("person") >= 0).unique().group_by("cell").len()
    found = frame.join(counted, on="cell", how="left", maintain_order="left")["len"]
    return found.fill_null(0).to_numpy().astype(np.int64)


def _values_left(new: Footprint, layers: Sequence[_Layer]) -> Iterator[tuple[str, Longs]]:
    """By column, count the values that all classes of each row show."""
    labels = [new.classes, *(layer.classes for layer in layers)]
    # One row for each cell: all rows of a cell are in the same classes.
    _, row, cells = np.unique(_cells(labels, new.rows), return_index=True, return_inverse=True)
    for column, values in new.values.items():
        cell, hashes = _spread(values, new.classes[row])
        for layer in layers:
            if column in layer.values:
                seen = layer.classes[row][cell]
                kept = _shown(layer.values[column], seen, hashes) | (seen == ABSENT)
                cell, hashes = cell[kept], hashes[kept]
        yield column, np.bincount(cell, minlength=len(row))[cells]


def _shown(values: ClassValues, classes: Longs, hashes: Hashes) -> _Mask:
    """Whether each class shows the value at the same position."""
    known = _marked(*_spread(values, np.arange(len(values.sizes))))
    shown: _Mask = pl.Series(_marked(classes, hashes)).is_in(pl.Series(known).implode()).to_numpy()
    return shown


def _spread(values: ClassValues, classes: Longs) -> tuple[Longs, Hashes]:
    """The values of each class, and the position in `classes` to which each belongs."""
    sizes = values.sizes[classes]
    begin = np.cumsum(values.sizes) - values.sizes
    ends = np.cumsum(sizes)
    place = np.arange(int(sizes.sum())) - np.repeat(ends - sizes, sizes)
    return np.repeat(np.arange(len(classes)), sizes), values.hashes[
        np.repeat(begin[classes], sizes) + place
    ]


def _marked(classes: Longs, hashes: Hashes) -> Hashes:
    """A class and a value as one number."""
    return hashes + (classes + 2).astype(np.uint64) * ODD


def _somebody(new: Footprint) -> _Mask:
    return np.ones(new.rows, dtype=np.bool_) if new.persons is None else new.persons >= 0


def _sharing(new: Footprint) -> Callable[[_Mask], float]:
    """A function from a mask of rows to the share of people it concerns, by any of their rows."""
    total = new.rows if new.persons is None else int(new.persons.max()) + 1
    return lambda rows: _number(new, rows) / total


def _number(new: Footprint, rows: _Mask) -> int:
    """How many people it concerns, by any of their rows."""
    persons = new.persons
    return int(rows.sum()) if persons is None else len(np.unique(persons[rows & (persons >= 0)]))


# ── which releases to delete ────────────────────────────────────────────────────────────────────


def _to_delete(new: Footprint, layers: Sequence[_Layer]) -> tuple[str, ...]:
    """A small set of earlier releases whose deletion leaves no one in the new one exposed.

    Releases that expose someone by themselves must go. If the others still expose someone together,
    remove them one by one, each time the one whose removal leaves the fewest rows exposed.
    """

    def exposed(some: Sequence[_Layer]) -> int:
        return int(_exposed(new, some).sum())

    harmless = [layer for layer in layers if not exposed([layer])]
    while len(harmless) > 1 and exposed(harmless):
        without = [[o for o in harmless if o is not layer] for layer in harmless]
        harmless = min(without, key=exposed)
    return tuple(name for layer in layers if layer not in harmless for name in layer.names)


def _exposed(new: Footprint, layers: Sequence[_Layer]) -> _Mask:
    """The rows with fewer than k candidates, or, if there are none, rows with a certain value."""
    found = candidates(new.classes, [layer.classes for layer in layers], new.persons)
    exposed: _Mask = (found < new.k) & _somebody(new)
    if exposed.any():
        return exposed
    for column, left in _values_left(new, layers):
        open_ = new.values[column].sizes[new.classes] > 1
        exposed = exposed | ((left == 1) & open_ & _somebody(new))
    return exposed
