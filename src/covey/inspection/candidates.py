"""The columns of a table that could say who is who, with the figures that speak for and against.

A column that numbers people has the same sex, date of birth and age in all rows of one value; one
that numbers cases has too, but a person has several cases, and one of households, booklets, doctors
or wards has not. Values are counted and compared, and never shown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import polars as pl

from covey import tables
from covey.errors import count
from covey.inspection import words
from covey.inspection.facts import FEW, Facts, look
from covey.inspection.recognisers import CHECKED, sexes
from covey.inspection.sentinels import days
from covey.schema import Role, TableFormat
from covey.tables import Table

_ALWAYS, _SELDOM = 0.9, 0.75  # how much more alike two rows of a value are than any two
_ENOUGH = 5  # values with several rows that show it
_SOME_ROWS = 20_000  # in which it is looked for
_MANY = 100  # columns that are looked at one by one
_MOST_OTHERS = 12  # columns without a meaning that are looked at
_LIFETIME = 40  # years that dates of birth span
_ODD = 0.02  # share of values that may break a rule
_NEVER = (words.KNOWN | words.PRIVATE | {"coordinates", "free_text", "date"}) - {"count"}
_OF_OTHERS = {"event", "household", "staff"}
_DAY, _YEAR = r"(0?[1-9]|[12][0-9]|3[01])", r"(1[6-9]|20)[0-9]{2}"  # or a month
_DATE = rf"^({_YEAR}[-./]{_DAY}[-./]{_DAY}|{_DAY}[-./]{_DAY}[-./]({_YEAR}|[0-9]{{2}}))([ T].*)?$"
_CALLED = r"^\p{Lu}\p{Ll}[^0-9]*$|^[^0-9]+ [^0-9]+$"  # capitalised, or several words
_NO_NUMBERS = frozenset({"coordinates", "street addresses", "web addresses", "IP addresses"})


def handful(rows: int) -> int:
    """The number of rows that may repeat others by mistake."""
    return max(3, rows // 100)


@dataclass(frozen=True)
class Candidate:
    """A column that could say who is who, or several that do so together: names and counts."""

    columns: tuple[str, ...]
    rows: int  # in which they are not missing
    values: int  # distinct ones
    median: float  # rows of a value
    most: int  # rows of the most frequent value
    same: int = 0  # values with as many rows as most have
    is_person: bool = False  # whether the name or check digits speak of people
    is_number: bool = False  # whether it numbers something
    checked: str | None = None  # the kind of number of which the check digits are right
    constant: tuple[str, ...] = ()  # columns that people do not change, constant in each value
    varying: tuple[str, ...] = ()  # such columns that vary
    within: tuple[str, ...] = ()  # candidates that are at least as coarse

    @property
    def column(self) -> str:
        """The column, or the first of them."""
        return self.columns[0]

    @property
    def behaves(self) -> bool | None:
        """Whether all rows of a value seem to be of one person; None if that is not known."""
        if bool(self.constant) == bool(self.varying):
            return None
        return bool(self.constant)

    @property
    def named(self) -> str:
        """The columns as the beginning of a message."""
        if len(self.columns) == 1:
            return f"{self.column!r} repeats"
        return f"{', '.join(map(repr, self.columns))} repeat together"

    @property
    def figures(self) -> str:
        """The counts, as people if it were one."""
        people = count(self.values, "person", "people")
        return f"{count(self.rows, 'row')} of {people}, up to {count(self.most, 'row')} for one"

    def __str__(self) -> str:
        """The figures, and what speaks for and against it."""
        usual = f"{self.median:g} each as a rule" + (
            ", nearly all as many" if self.same > (1 - _ODD) * self.values else ""
        )
        parts = [f"{self.figures}, {usual}"]
        parts += [f"its check digits are those of {self.checked}"] if self.checked else []
        parts += (
            [f"in each of them {_listed(self.constant)} never changes"] if self.constant else []
        )
        parts += [f"in one of them {_listed(self.varying)} changes"] if self.varying else []
        parts += [f"each lies within one of {_listed(self.within)}"] if self.within else []
        return "; ".join(parts)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def of_cells(cells: Sequence[pl.Series]) -> Candidate | None:
    """The figures of columns together, in rows that have at least two of them; None if empty."""
    known = pl.sum_horizontal(pl.all().is_not_null()) >= min(len(cells), 2)
    frame = pl.DataFrame(cells).filter(known)
    if not frame.height:
        return None
    each = frame.group_by(frame.columns).len("\0rows")["\0rows"]
    median = float(each.median() or 0)  # type: ignore[arg-type]
    figures = (frame.height, len(each), median, int(each.max()))  # type: ignore[arg-type]
    return Candidate(tuple(frame.columns), *figures, same=int((each == median).sum()))


# ── which columns ───────────────────────────────────────────────────────────────────────────────


def speaks_of_people(facts: Facts) -> bool:
    """Whether the name of a column is that of a number of people, or its check digits are."""
    if facts.concepts & _OF_OTHERS or is_name(facts):
        return False
    of_people = facts.kind is not None and facts.kind.kind == "numbers of people"
    return of_people or is_of_people(facts.name, facts.concepts)


def is_of_people(name: str, concepts: frozenset[str] | None = None) -> bool:
    """Whether the name of a column says that it numbers people."""
    found = words.concepts(name) if concepts is None else concepts
    if found & _OF_OTHERS:
        return False
    called = "generic_id" in found or words.is_called(name, "person")
    return "person_number" in found or ("person" in found and called)


def may_be(facts: Facts) -> bool:
    """Whether a column could number people: no date, sum, measurement, place or text does."""
    if facts.distinct < 2 or facts.is_date or facts.is_time or facts.has_fractions:
        return False
    if facts.is_flag or facts.is_prose or _most(facts, _DATE):
        return False
    if speaks_of_people(facts):
        return True
    kind = facts.kind
    if kind is not None and (kind.role is not Role.IDENTIFIER or kind.kind in _NO_NUMBERS):
        return False
    return facts.distinct > FEW and not never(facts.concepts)


def never(concepts: frozenset[str]) -> bool:
    """Whether what a name speaks of is never a number of people."""
    household = {"household"} if "generic_id" in concepts else set()
    return bool(concepts & _NEVER - household)


def is_number(facts: Facts) -> bool:
    """Whether a column numbers something, or holds addresses of people, and no names."""
    found, kind = facts.concepts, facts.kind
    if "staff" in found or is_name(facts):
        return False
    of_people = kind is not None and kind.role is Role.IDENTIFIER
    numbered = bool(found & {"person_number", "contact"}) or words.is_called(facts.name, "person")
    return of_people or numbered or "generic_id" in found or facts.is_coded


def is_name(facts: Facts) -> bool:
    """Whether the values are names or other words, as far as name and content say."""
    if facts.concepts & {"person_name", "generic_name"}:
        return True
    if facts.is_prose:
        return False
    of_names = facts.kind is not None and facts.kind.kind.endswith("personal names")
    return of_names or (facts.is_text and _most(facts, _CALLED))


def _most(facts: Facts, pattern: str) -> bool:
    return int(facts.texts.str.contains(pattern).sum()) > len(facts.texts) / 2


# ── what people do not change ───────────────────────────────────────────────────────────────────


class Looked(dict[str, Facts]):
    """The facts of the columns of a table, each when it is first needed."""

    def __init__(self, table: Table, known: Mapping[str, Facts] | None = None) -> None:
        super().__init__(known or {})
        self.table = table

    def __missing__(self, name: str) -> Facts:
        self[name] = facts = look(self.table, name)
        return facts


def lasts(concepts: frozenset[str]) -> bool:
    """Whether a name speaks of what people do not change, or only slowly: birth, sex, age."""
    of_birth = "birth" in concepts and not concepts & {
        "place", "country", "person_name", "measurement", "generic_name", "household",
    }  # fmt: skip
    return of_birth or bool(concepts & {"sex", "age"})


def _lasting(facts: Facts) -> bool:
    if not 2 <= facts.distinct < facts.present:
        return False
    if lasts(facts.concepts):
        return True
    if facts.distinct <= FEW:
        values = dict(zip(facts.texts.to_list(), facts.rows.to_list(), strict=False))
        return bool(values) and sexes(values) is not None
    return facts.is_date and not facts.concepts and _years(facts) > _LIFETIME


def _years(facts: Facts) -> float:
    known = days(facts).drop_nulls()
    low, high = known.quantile(0.05), known.quantile(0.95)
    return 0.0 if low is None or high is None else (float(high) - float(low)) / 365


@dataclass(frozen=True, eq=False)
class Behaviour:
    """What of a table stays the same in all rows of one value of a column."""

    looked: Looked
    names: Sequence[str]

    @cached_property
    def lasting(self) -> list[Facts]:
        """The columns that people do not change."""
        return [facts for name in self.names if _lasting(facts := self.looked[name])]

    @cached_property
    def others(self) -> list[Facts]:
        """Some columns with few values, if it is not known what people do not change."""
        every = (self.looked[name] for name in self.names)
        few = (f for f in every if 2 <= f.distinct <= max(FEW, f.present / 4))
        return [facts for facts, _ in zip(few, range(_MOST_OTHERS), strict=False)]

    def of(self, who: pl.Series, *, named: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The columns that are constant in each value of `who`, and those that vary.

        Those of one name have the same sex without being one person.
        """
        tried = [facts for facts in self.lasting if facts.name != who.name]
        tried = [facts for facts in tried if not (named and facts.distinct <= FEW)]
        if not self.lasting:
            return self._facts_of_one(who), ()
        found = dict(self._alike(who, tried))
        constant = tuple(name for name, alike in found.items() if alike >= _ALWAYS)
        return constant, tuple(name for name, alike in found.items() if alike < _SELDOM)

    def _facts_of_one(self, who: pl.Series) -> tuple[str, ...]:
        """At least two columns that are constant and do not tell each other: facts of a person."""
        values = who.n_unique()
        tried = [f for f in self.others if f.name != who.name and f.distinct < 0.7 * values]
        fixed = {name for name, alike in self._alike(who, tried) if alike > 1 - _ODD}
        for one, other in combinations([f for f in tried if f.name in fixed], 2):
            pairs = [self._alike(a.cells, [b]) for a, b in ((one, other), (other, one))]
            if all(alike < _ALWAYS for each in pairs for _, alike in each):
                return one.name, other.name
        return ()

    @staticmethod
    def _alike(who: pl.Series, columns: Iterable[Facts]) -> Iterator[tuple[str, float]]:
        """Of each column how alike rows of a value are: 1 if equal, 0 if like any two rows."""
        every = [(facts, _comparable(facts)) for facts in columns]
        frame = pl.DataFrame([who.alias("\0who"), *(cells for _, cells in every)])
        frame = frame.filter(pl.col("\0who").is_not_null())
        several = frame["\0who"].value_counts(name="\0rows").filter(pl.col("\0rows") > 1)
        if several.height < _ENOUGH:
            return
        upto = several.sort(pl.col("\0who").hash(3)).filter(
            pl.col("\0rows").clip(upper_bound=_SOME_ROWS // 100).cum_sum() <= _SOME_ROWS
        )
        some = frame.join(upto.select("\0who"), on="\0who", how="semi")
        for facts, cells in every:
            known = some.select("\0who", cells.name).drop_nulls()
            share = _spread(known, cells) if cells.dtype.is_numeric() else _unequal(known, cells)
            if share is not None:
                yield facts.name, 1 - share


def _comparable(facts: Facts) -> pl.Series:
    """The cells, or the numbers of ages and years, which may differ a little."""
    if facts.concepts & {"age", "birth"} and facts.is_numeric and not facts.is_date:
        numbers = facts.numbers
        return facts.cells.replace_strict(
            facts.values, numbers, default=None, return_dtype=pl.Float64
        )
    return facts.cells.cast(pl.String) if facts.cells.dtype.is_numeric() else facts.cells


def _spread(known: pl.DataFrame, cells: pl.Series) -> float | None:
    """The mean variance in a value, as a share of that of all rows; None if nothing varies."""
    each = known.group_by("\0who").agg(pl.col(cells.name).var()).drop_nulls()[cells.name]
    whole, within = cells.var(), each.mean()
    if not whole or within is None or len(each) < _ENOUGH:
        return None
    return float(within) / float(whole)  # type: ignore[arg-type]


def _unequal(known: pl.DataFrame, cells: pl.Series) -> float | None:
    """The mean share of unequal pairs in a value, as a share of that among all rows."""
    pairs = known.group_by("\0who", cells.name).len("n").cast({"n": pl.Float64})
    equal = (pl.col("n") * (pl.col("n") - 1)).sum() / (pl.col("n").sum() * (pl.col("n").sum() - 1))
    each = pairs.group_by("\0who").agg(equal.alias("equal"), pl.col("n").sum())
    each = each.filter(pl.col("n") > 1)
    sizes = cells.drop_nulls().value_counts(name="n").cast({"n": pl.Float64})
    by_chance = sizes.select(equal).item()
    if by_chance is None or each.height < _ENOUGH or by_chance > 1 - _ODD:
        return None
    return float((1 - each["equal"]).mean()) / (1 - float(by_chance))  # type: ignore[arg-type]


# ── candidates ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Search:
    """Looks for candidates among columns, each with whether it is an identifier."""

    looked: Looked
    names: Mapping[str, bool]
    declared: TableFormat

    @cached_property
    def figures(self) -> dict[str, tuple[Candidate, pl.Series]]:
        """Of the columns that may number people the figures, and the persons of the rows."""
        tried = [facts for name in self.names if may_be(facts := self.looked[name])]
        named = [facts for facts in tried if self._is_named(facts)]
        others = self._perhaps([facts for facts in tried if not self._is_named(facts)])
        cells = {f.name: tables.owners(f.cells, self.declared) for f in [*named, *others]}
        return {n: (found, who) for n, who in cells.items() if (found := of_cells([who]))}

    def _is_named(self, facts: Facts) -> bool:
        return self.names[facts.name] or speaks_of_people(facts) or is_number(facts)

    def _perhaps(self, tried: Sequence[Facts]) -> list[Facts]:
        """Columns that number people only if they behave so: those that do not are left out.

        Many columns are looked at together. Without one that people do not change, only some are.
        """
        several = [facts for facts in tried if facts.distinct < facts.present]
        lasting = [facts for facts in self.behaviour.lasting if facts.distinct <= FEW]
        if len(several) < _MANY or not lasting:
            return several[:_MANY]
        frame, fixed = self.looked.table.frame, lasting[0].name
        pairs = frame.select(pl.struct(f.name, fixed).n_unique().alias(f.name) for f in several)
        found = zip(several, pairs.row(0), strict=True)
        return [f for f, two in found if two - f.distinct <= 1 + int((f.rows > 1).sum()) / 2]

    @cached_property
    def behaviour(self) -> Behaviour:
        """What stays the same in all rows of one value."""
        return Behaviour(self.looked, self.looked.table.frame.columns)

    @property
    def own(self) -> str | None:
        """The first number of people that differs in each row."""
        rows = self.looked.table.frame.height
        own = (n for n, (c, _) in self.figures.items() if c.values == c.rows == rows)
        return next((name for name in own if speaks_of_people(self.looked[name])), None)

    def found(self, only: str | None = None) -> list[Candidate]:
        """The columns that repeat; with `only`, no other one is looked at."""
        return [self._judged(n) for n in self.figures if only in (None, n) and self._repeats(n)]

    def live(self, found: Sequence[Candidate]) -> list[Candidate]:
        """The candidates: those to which people may belong, and which lie within which."""
        own = self.own
        live = [one for one in found if _is_live(one, own)]
        cells = {one.column: self.figures[one.column][1] for one in live}
        return [replace(one, within=_coarser(one, live, cells)) for one in live]

    def _repeats(self, name: str) -> bool:
        one, _ = self.figures[name]
        by_mistake = 0 if speaks_of_people(self.looked[name]) else handful(one.rows)
        return one.rows - one.values > by_mistake

    def _judged(self, name: str) -> Candidate:
        facts, (figures, who) = self.looked[name], self.figures[name]
        kind = facts.kind.kind if facts.kind else None
        constant, varying = self.behaviour.of(who, named=is_name(facts))
        return replace(
            figures,
            is_person=speaks_of_people(facts),
            is_number=is_number(facts) or (self.names[name] and not is_name(facts)),
            checked=kind if kind in CHECKED else None,
            constant=constant,
            varying=varying,
        )


def _is_live(one: Candidate, own: str | None) -> bool:
    """Whether rows may belong to the people of this column.

    Beside people with one row each, what repeats is a person only if it behaves like one.
    """
    if one.behaves is not None:
        return one.behaves or (one.is_person and not own)
    return one.is_person or (one.is_number and not own)


def _coarser(one: Candidate, found: Sequence[Candidate], cells: Mapping[str, pl.Series]
             ) -> tuple[str, ...]:  # fmt: skip
    """The candidates of which each has whole values of this one, with a few exceptions."""
    names = []
    for other in found:
        if other is not one and other.values <= one.values * (1 + _ODD):
            two = pl.DataFrame([cells[one.column], cells[other.column]]).drop_nulls()
            if two.n_unique() - two[one.column].n_unique() <= _ODD * one.values:
                names.append(other.column)
    return tuple(names)
