"""What released cells still show, in natural units: years, characters, values.

All of it is counted in the release, so anyone who has the release can count it too. The figures are
medians over rows, and what nine of ten rows keep. They are widths and numbers that occur, never
means of two.
"""

import math
import re
from dataclasses import dataclass
from datetime import date
from itertools import takewhile
from typing import Literal

import numpy as np

from covey._core.arrays import Floats, Longs
from covey.encoding import MISSING_LEAF, Category, Centres, Interval, Nodes, Ranges
from covey.encoding.attributes import Mask
from covey.encoding.categories import members_of
from covey.encoding.intervals import MISSING
from covey.errors import count, percent
from covey.generalisation import ShownColumn, View
from covey.measures.scales import day_of
from covey.schema import TaxonomyBuilder
from covey.schema.taxonomy import ROOT

Kind = Literal["width", "characters", "values", "mean", "median"]

# Words in the name of a column that say in what its numbers are counted; the first line counts.
_WORDS = {
    "hours": "hour hours stunde stunden heure heures hora horas uur uren",
    "days": "day days tage tagen jour jours dia dias día días giorno giorni dag dagen",
    "weeks": "week weeks woche wochen semaine semaines semana semanas settimana settimane weken",
    "months": "month months monat monate mois mes meses mese mesi maand maanden",
    "years": "year years jahr jahre ans année années anno anni año años ano anos jaar jaren "
    "age alter lebensalter âge edad età idade leeftijd ålder alder wiek věk yaş ikä",
}
# What follows these words is a period in which something is counted: visits per year.
_PERIOD = {"per", "last", "past", "previous", "pro", "letzten", "par", "por"}
_DAYS = {"hours": 1 / 24, "days": 1.0, "months": 365.25 / 12, "years": 365.25}


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """What the released cells show of one quasi-identifier.

    For numbers and dates, `typical` and `most` are widths of intervals: of the rows that show both
    ends or one value, half have at most the one, and nine of ten at most the other. For codes, they
    are characters: of the rows that show any, half and nine of ten show at least that many. For
    other categories, `typical` is the number of values that a cell stands for, among cells that
    show neither one value nor nothing. None means that there are no such rows. Means and medians
    have no width.
    """

    column: str
    kind: Kind
    unit: str | None  # of widths, if it is known
    typical: float | None = None
    most: float | None = None
    of: int | None = None  # characters of the longest code
    exact: float = 0.0  # share of rows that show one value
    open: float = 0.0  # share of rows whose interval is open at one end
    nothing: float  # share of rows that show nothing
    missing: float  # share of rows that show that the value is missing
    relative_to: str  # what the loss is relative to

    def __str__(self) -> str:
        """One sentence, without the name of the column."""
        for share, sentence in (
            (self.exact, "shown exactly in every row"),
            (self.nothing, "not shown in any row"),
            (self.missing, "missing in every row"),
        ):
            if share == 1:
                return sentence
        text = ", ".join(filter(None, [*self._parts(), self._share("missing in", self.missing)]))
        # The first share is one of rows, and so are the others.
        return text.replace(_OF_ROWS, " of rows", 1).replace(_OF_ROWS, "")

    def _parts(self) -> list[str]:
        less = [
            self._share("open at one end in", self.open),
            self._share("not shown in", self.nothing),
        ]
        if self.kind in ("mean", "median"):
            return [f"the {self.kind} of each group", *less]
        if self.kind == "values":
            return [self._share("shown exactly in", self.exact), self._as_one_of(), *less]
        shown = self._width() if self.kind == "width" else self._characters()
        if self.open + self.nothing < 0.5 or not shown:
            return [*shown, *less]
        return [*less, f"otherwise {shown[0]}", *shown[1:]]

    def _width(self) -> list[str]:
        if self.typical is None or self.most is None:
            return []
        wide = f"typically {self._measured(self.typical)} wide" if self.typical else "mostly exact"
        return [wide, f"9 of 10 at most {self._measured(self.most)}" if self.most else ""]

    def _measured(self, width: float) -> str:
        number = f"{width:,.1f}".removesuffix(".0") if width >= 0.1 else f"{width:.2g}"
        if self.unit is None:
            return number
        return f"{number} {self.unit.removesuffix('s') if number == '1' else self.unit}"

    def _characters(self) -> list[str]:
        if self.typical is None:
            return []
        return [
            f"typically {self.typical:.0f} of {self.of} characters shown",
            f"9 of 10 at least {self.most:.0f}",
        ]

    def _as_one_of(self) -> str:
        if self.typical is None:
            return ""
        return f"{'otherwise ' if self.exact else ''}typically as one of {self.typical:,.0f} values"

    @staticmethod
    def _share(what: str, share: float) -> str:
        return f"{what} {percent(share)}{_OF_ROWS}" if share else ""


_OF_ROWS = "\0"  # stands for words after a share until it is known which share is the first


def resolutions(view: View) -> tuple[Resolution, ...]:
    """What the release shows of every quasi-identifier."""
    columns = [column.on_shown_scale for column in view.publishable.columns]
    return tuple(_resolution(column, known=view.same_rows) for column in columns)


def _resolution(column: ShownColumn, *, known: bool) -> Resolution:
    shown = column.shown
    if isinstance(shown, Ranges):
        return _of_ranges(shown, column.counts)
    if isinstance(shown, Centres):
        return _of_centres(shown, column.counts)
    assert isinstance(shown, Nodes)
    built = shown.attribute.column.taxonomy
    if isinstance(built, TaxonomyBuilder) and built.build == "prefixes":
        return _of_codes(shown, column, known=known)
    return _of_labels(shown, column, known=known)


def least_of(values: Floats, rows: Longs, share: float) -> float | None:
    """The least value that at least this share of the rows does not exceed; None without rows."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(rows[order])
    if not len(reached) or not reached[-1]:
        return None
    # Whole rows: nine of ten rows are 0.9 of them, rounded up.
    place = int(np.searchsorted(reached, np.ceil(share * reached[-1] - 1e-9)))
    return float(values[order[place]])


def _part(rows: Longs, some: Mask) -> float:
    return float(rows @ some / rows.sum())


# ── numbers and dates ───────────────────────────────────────────────────────────────────────────


def _of_ranges(shown: Ranges, rows: Longs) -> Resolution:
    interval = shown.attribute
    bottom, top = interval.column.bounds
    missing = shown.state == MISSING
    half_open = ~missing & ~shown.hidden & ((shown.low <= bottom) | (shown.high >= top))
    ends = ~missing & ~shown.hidden & ~half_open
    width = shown.high - shown.low
    typical, most = (least_of(width[ends], rows[ends], share) for share in (0.5, 0.9))
    unit = _unit_of_days(interval, typical or most) if interval.is_date else unit_of(interval.name)
    if interval.is_date and unit is not None:
        typical, most = (w if w is None else w / _DAYS[unit] for w in (typical, most))
    return Resolution(
        column=interval.name,
        kind="width",
        unit=unit,
        typical=typical,
        most=most,
        exact=_part(rows, ends & (width == 0)),
        open=_part(rows, half_open),
        nothing=_part(rows, shown.hidden),
        missing=_part(rows, missing),
        relative_to=_range(interval),
    )


def _of_centres(shown: Centres, rows: Longs) -> Resolution:
    interval = shown.attribute
    assert interval.column.render is not None
    return Resolution(
        column=interval.name,
        kind=interval.column.render,
        unit=unit_of(interval.name),
        nothing=_part(rows, shown.hidden),
        missing=_part(rows, shown.state == MISSING),
        relative_to=_range(interval) if interval.column.domain else "the range of its values",
    )


def unit_of(name: str) -> str | None:
    """The unit of a column of numbers, if its name says so: years for `age` or `Alter`."""
    spaced = re.sub(r"(?<=[^\W\d_A-Z])(?=[A-Z])", " ", name)  # `ageAtDeath` is three words
    words = [word.lower() for word in re.findall(r"[^\W\d_]+", spaced)]
    counted = set(takewhile(lambda word: word not in _PERIOD, words))
    return next((unit for unit, known in _WORDS.items() if counted & set(known.split())), None)


def _unit_of_days(interval: Interval, width: float | None) -> str:
    if width is None or width > 3 * _DAYS["years"]:
        return "years"
    if width > 92:
        return "months"
    return "hours" if interval.has_hours and width <= 3 else "days"


def _range(interval: Interval) -> str:
    """The domain that the loss is relative to: as declared, or as released.

    Without a grid, the ends of what is released are the values of people. These are published with
    the release, but a report need not name its most unusual people: ends are rounded outwards.
    """
    low, high = interval.low, interval.high
    if low == high:
        return "one value"
    declared, exact = interval.column.domain is not None, interval.column.grid is not None
    if interval.is_date:
        first, last = day_of(low), day_of(high)
        return f"{first} to {last}" if exact else f"about {_rounded_days(first, last)}"
    if not declared and not exact:
        step = 10.0 ** max(math.floor(math.log10(high - low)), -300)
        low, high = math.floor(low / step) * step, math.ceil(high / step) * step
    ends = f"{_spelled(low)}{' to ' if low < 0 else '–'}{_spelled(high)}"
    return f"{ends}, as declared" if declared else ends if exact else f"about {ends}"


def _rounded_days(first: date, last: date) -> str:
    """Months, years or decades, whichever the days are many of."""
    years = last.year - first.year
    if years > 30:
        return f"{first.year // 10 * 10} to {-(-last.year // 10) * 10}"
    return f"{first.year} to {last.year}" if years > 3 else f"{first:%Y-%m} to {last:%Y-%m}"


def _spelled(end: float) -> str:
    return f"{end:.10g}" if abs(end) < 10_000 else f"{end:,.10g}"


# ── categories ──────────────────────────────────────────────────────────────────────────────────


def _of_codes(shown: Nodes, column: ShownColumn, *, known: bool) -> Resolution:
    """Codes that are shortened from the right; a missing one shows nothing but that."""
    labels = [shown.attribute.tree.labels[node] for node in shown.node.tolist()]
    missing = _is_missing(shown)
    length = np.array([len(label.rstrip(ROOT)) for label in labels], dtype=np.float64)
    rows, some = column.counts, ~missing & ~_is_root(shown)
    least = [least_of(-length[some], rows[some], share) for share in (0.5, 0.9)]
    typical, most = (None if length is None else -length + 0.0 for length in least)
    return Resolution(
        column=shown.attribute.name,
        kind="characters",
        unit="characters",
        typical=typical,
        most=most,
        of=max(map(len, labels)),
        exact=_part(rows, (shown.node < shown.attribute.tree.leaf_count) & ~missing),
        nothing=_part(rows, _is_root(shown)),
        missing=_part(rows, missing),
        relative_to=_tree(shown.attribute, known=known),
    )


def _of_labels(shown: Nodes, column: ShownColumn, *, known: bool) -> Resolution:
    values, missing = _values(shown, column), _is_missing(shown)
    exact, nothing = (values == 1) & ~missing, _is_root(shown) & (values > 1)
    tree = shown.attribute.tree
    nothing &= values >= tree.leaf_count - (MISSING_LEAF in tree.node_of)
    between = ~exact & ~nothing & ~missing
    # The number of values under a label of a built tree may depend on people who were left out.
    countable = known or not shown.attribute.counts_leaves
    return Resolution(
        column=shown.attribute.name,
        kind="values",
        unit="values",
        typical=least_of(values[between], column.counts[between], 0.5) if countable else None,
        exact=_part(column.counts, exact),
        nothing=_part(column.counts, nothing),
        missing=_part(column.counts, missing),
        relative_to=_tree(shown.attribute, known=known),
    )


def _values(shown: Nodes, column: ShownColumn) -> Floats:
    """How many values each cell stands for: those of its set, or the leaves below its label."""
    tree = shown.attribute.tree
    below: Floats = tree.leaves_below[shown.node].astype(np.float64)
    for place, cell in enumerate(column.written[0].to_list()):
        if cell is not None and str(cell) not in tree.node_of and str(cell).startswith("{"):
            below[place] = len(members_of(str(cell)))
    return below


def _is_missing(shown: Nodes) -> Mask:
    return np.equal(shown.node, shown.attribute.tree.node_of.get(MISSING_LEAF, -1))


def _is_root(shown: Nodes) -> Mask:
    return np.equal(shown.node, shown.attribute.tree.root)


def _tree(category: Category, *, known: bool) -> str:
    if category.column.taxonomy is None:
        return "all values or one"
    if category.column.has_own_tree and not known:
        return "its taxonomy"
    return f"its taxonomy of {count(category.tree.height, 'level')}"
