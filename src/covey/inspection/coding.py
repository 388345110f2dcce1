"""The settings of a column beside its role: type, grid, bounds, and what means missing."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from covey.errors import count
from covey.inspection import findings, roles, sentinels, tails
from covey.inspection.facts import Facts
from covey.inspection.recognisers import UNKNOWN, recoded
from covey.schema import ColumnType, Role
from covey.tables import Table
from covey.tables.codebook import as_codes

Coded = dict[str, tuple[Any, str]]  # settings with their reasons

_MOST_SPELLINGS = 20  # of sexes in a column


@dataclass(frozen=True)
class Coder:
    """What decides about the settings of one column."""

    facts: Facts
    table: Table
    k: int
    persons: pl.Series | None  # whose rows they are, if people repeat
    elsewhere: frozenset[str]  # formats of other columns whose dates are clear

    def settings(
        self, role: Role, taxonomy: Path | None = None
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """The settings of the column in a role, and the reasons for some."""
        steps: list[Callable[[Any], Coded]]
        if role is Role.QUASI:
            settings = roles.settings(self.facts, taxonomy, self.elsewhere)
            if settings["type"] is ColumnType.NUMERIC and self._has_labels:
                settings = {"type": ColumnType.CATEGORICAL}
            steps = [self._missing_values, self._unreadable, self._tails]
            steps += [] if "taxonomy" in settings else [self._spellings]
        elif role is Role.SENSITIVE:
            facts = self.facts
            numeric = facts.is_numeric and not facts.is_few and not facts.unreadable
            settings = {"type": ColumnType.NUMERIC if numeric else None}
            steps = []  # its cells are released as they are
        else:
            return {}, {}
        coded = {name: pair for step in steps for name, pair in step(settings["type"]).items()}
        settings |= {name: value for name, (value, _) in coded.items()}
        return settings, {name: reason for name, (_, reason) in coded.items()}

    @property
    def _has_labels(self) -> bool:
        """Whether the file has labels for nearly all values: then they are codes."""
        labels = self.table.codebook.values.get(self.facts.name, {})
        texts = as_codes(self.facts.values)
        return bool(labels) and int(texts.is_in(list(labels)).sum()) >= 0.8 * len(texts)

    def _missing_values(self, kind: ColumnType | None) -> Coded:
        """Values that stand for missing."""
        far, labelled = self._far(kind), self._labelled(kind)
        rows = count(int(self.facts.rows.filter(far | labelled).sum()), "row")
        if labelled.any():
            reason = f"labelled as missing, or far from all other values, in {rows}"
        elif far.any():
            reason = f"far from all other values, in {rows}: they mean missing"
        else:
            return {}
        return {"missing_values": (_listed(self.facts, far | labelled, kind), reason)}

    def _far(self, kind: ColumnType | None) -> pl.Series:
        """Which of the distinct values are sentinels."""
        if kind is ColumnType.DATE:
            return sentinels.of_dates(self.facts)
        if self.facts.is_numeric:
            return sentinels.of_numbers(self.facts)
        return pl.repeat(value=False, n=self.facts.distinct, eager=True)

    def _labelled(self, kind: ColumnType | None) -> pl.Series:
        """Which of the distinct values the codebook of the file calls unknown or refused."""
        labels = self.table.codebook.values.get(self.facts.name, {})
        meant = [value for value, label in labels.items() if label.strip().casefold() in UNKNOWN]
        if kind is ColumnType.DATE or not meant:
            return pl.repeat(value=False, n=self.facts.distinct, eager=True)
        return self.facts.values.cast(pl.String).is_in(meant)

    def _unreadable(self, kind: ColumnType) -> Coded:
        if kind is ColumnType.CATEGORICAL:
            return {}
        rows = findings.unreadable_rows(self.facts)
        what = "date" if kind is ColumnType.DATE else "number"
        reason = f"{count(rows, 'row')} with a cell that is no {what}"
        return {"unreadable": ("missing", reason)} if rows else {}

    def _spellings(self, kind: ColumnType) -> Coded:
        """Other labels for spellings of the same sex."""
        facts = self.facts
        if kind is not ColumnType.CATEGORICAL or facts.values.dtype != pl.String:
            return {}
        if facts.distinct > _MOST_SPELLINGS:
            return {}
        labels = recoded(dict(zip(facts.values, facts.rows, strict=True)))
        reason = f"{count(len(labels), 'other spelling')} of sexes"
        return {"recode": (labels, reason)} if labels else {}

    def _tails(self, kind: ColumnType) -> Coded:
        """A grid and bounds for numbers and dates."""
        if kind is ColumnType.CATEGORICAL:
            return {}
        facts, is_date = self.facts, kind is ColumnType.DATE
        values = sentinels.days(facts) if is_date else facts.numbers
        real = pl.when(~(self._far(kind) | self._labelled(kind))).then(values.cast(pl.Float64))
        cells = _each(facts, pl.select(real).to_series())
        found = tails.propose(cells, self.k, is_date=is_date, persons=self.persons)
        return {name: (setting.value, setting.reason) for name, setting in found.items()}


def _each(facts: Facts, values: pl.Series) -> pl.Series:
    """The number of each row, from those of the distinct values."""
    pairs = pl.DataFrame({"value": facts.values, "number": values})
    cells = pl.DataFrame({"value": facts.cells})
    return cells.join(pairs, on="value", how="left", maintain_order="left")["number"]


def _listed(facts: Facts, which: pl.Series, kind: ColumnType | None) -> tuple[Any, ...]:
    """Some values as the schema lists them: numbers and ISO dates, or codes as written."""
    if kind is ColumnType.NUMERIC:
        numbers = facts.numbers.filter(which).drop_nulls().unique().sort()
        return tuple(int(number) if number.is_integer() else number for number in numbers)
    if kind is ColumnType.DATE:
        days = sentinels.days(facts).filter(which).unique().sort()
        return tuple(days.cast(pl.Int32).cast(pl.Date).cast(pl.String))
    return tuple(sorted(facts.values.filter(which).cast(pl.String)))
