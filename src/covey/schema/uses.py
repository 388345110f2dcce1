"""What a table is released for, in the words of its custodian: the grammar of declared uses.

mean of length_of_stay by diagnosis
share of outcome = died where age >= 65
count by zip where sex = f and age >= 65
regress income on age, sex, education
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from covey.errors import UsageError, nearest

_TOKEN = re.compile(r'\s*("[^"]*"|[<>!]=|[=<>,]|[^\s=<>!,"]+)')
SIGNS = ("=", "!=", "<", "<=", ">", ">=")
_KINDS = ("mean", "median", "share", "count", "correlation", "regress")


@dataclass(frozen=True)
class Condition:
    """A comparison of a column with a value."""

    column: str
    sign: str
    value: str


@dataclass(frozen=True)
class Use:
    """Something that the table is released for."""

    text: str
    kind: str
    columns: tuple[str, ...]  # what is estimated, the outcome of a regression first
    by: str | None = None
    where: tuple[Condition, ...] = ()
    value: str | None = None  # whose share is wanted

    @classmethod
    def of(cls, text: str, names: Collection[str]) -> "Use":
        """Read a use of a table with these columns."""
        try:
            return _Reader(text, names).use()
        except UsageError as error:
            raise UsageError(f"the use {text.strip()!r} cannot be read: {error}") from None

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that it needs."""
        more = () if self.by is None else (self.by,)
        return tuple(dict.fromkeys((*self.columns, *more, *(c.column for c in self.where))))


def mistakes(uses: Collection[str], names: Collection[str]) -> list[str]:
    """What is wrong with each of these uses; their words may be values, so none is quoted."""
    found = []
    for place, text in enumerate(uses, 1):
        try:
            _Reader(text, names).use()
        except UsageError as error:
            found.append(f"use {place} cannot be read: {error}")
    return found


class _Reader:
    """The words of a use, one after another."""

    def __init__(self, text: str, names: Collection[str]) -> None:
        self.text, self.names = text, names
        self.words: list[str] = _TOKEN.findall(text)
        if "".join(self.words).replace(" ", "") != re.sub(r"\s", "", text):
            raise UsageError("it has a quote without an end")

    def use(self) -> Use:
        """The whole of it."""
        kind = self._next("a kind of use").lower()
        if kind not in _KINDS:
            raise UsageError(f"it must begin with one of {', '.join(_KINDS)}")
        columns, value = self._of(kind)
        by = self._column() if self._skip("by") else None
        where: list[Condition] = []
        while self._skip("and" if where else "where"):
            where.append(self._condition())
        if by is None and self._skip("by"):
            by = self._column()
        if self.words:
            raise UsageError("it has words after its end: put a value with spaces in quotes")
        return Use(self.text.strip(), kind, columns, by, tuple(where), value)

    def _of(self, kind: str) -> tuple[tuple[str, ...], str | None]:
        if kind == "count":
            return (), None
        if kind == "regress":
            outcome = self._column()
            self._need("on")
            columns = [outcome, self._column()]
            while self._skip(","):
                columns.append(self._column())
            if outcome in columns[1:]:
                raise UsageError("it regresses a column on itself")
            return tuple(dict.fromkeys(columns)), None
        self._need("of")
        first = self._column()
        if kind == "correlation":
            self._need("and")
            other = self._column()
            if other == first:
                raise UsageError("it needs two columns")
            return (first, other), None
        if kind == "share":
            self._need("=")
            return (first,), self._next("a value").strip('"')
        return (first,), None

    def _condition(self) -> Condition:
        column, sign = self._column(), self._next("one of = != < <= > >=")
        if sign not in SIGNS:
            raise UsageError(f"after {column!r} comes one of {' '.join(SIGNS)}")
        return Condition(column, sign, self._next("a value").strip('"'))

    def _column(self) -> str:
        name = self._next("a column").strip('"')
        if name not in self.names:
            raise UsageError(f"no column {name!r} is released{nearest(name, self.names)}")
        return name

    def _next(self, what: str) -> str:
        if not self.words:
            raise UsageError(f"{what} is missing at its end")
        return self.words.pop(0)

    def _skip(self, word: str) -> bool:
        found = bool(self.words) and self.words[0].lower() == word
        if found:
            self.words.pop(0)
        return found

    def _need(self, word: str) -> None:
        if not self._skip(word):
            raise UsageError(f"{word!r} is missing")
