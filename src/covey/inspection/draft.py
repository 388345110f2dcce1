"""A first draft of a schema, with a reason for every line.

Careful rather than clever: a column that might name a person is an identifier, one that others
might know is a quasi-identifier, and only a constant column is insensitive. Numbers and dates get a
grid, and bounds if few people are at an end of the scale. The custodian decides. The reasons
contain counts, never values, and invite disagreement.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl
import tomlkit

from covey import tables
from covey.errors import TableError, UsageError, percent
from covey.inspection import tails
from covey.inspection.persons import Repeats, repeats
from covey.schema import (
    Column,
    ColumnType,
    Require,
    Role,
    Schema,
    TableFormat,
    TaxonomyBuilder,
)
from covey.schema.labels import NONE_ALIKE, STEPS, LookAlikes, look_alikes
from covey.schema.requirements import KAnonymity
from covey.tables import Table
from covey.tables.cells import parse_dates, parse_numbers

_IDENTIFIER_NAMES = re.compile(
    r"(^|_)(name|names|firstname|lastname|surname|forename|fullname|email|mail|phone|telephone|tel|"
    r"mobile|fax|ssn|passport|iban|account|address|street|uuid|guid|mrn|id|identifier|username|login|"
    r"ip|url|licen[cs]e|vin|nhs|npi)($|_|number$|no$|nr$)"
)
_IDENTIFIER_ENDS = re.compile(r"(ID|Id|NAME|Name)$")
_SENSITIVE_NAMES = re.compile(
    r"(disease|diagnos|illness|condition|hiv|treatment|therapy|medication|drug|procedure|symptom|"
    r"income|salary|wage|earning|debt|credit|religio|politic|crime|offen[cs]e|grade|score|outcome|"
    r"cause_of|length_of_stay|cost)"
)
_CODE_NAMES = re.compile(r"(zip|postal|postcode|plz|cap$|icd|nuts|lau|fips|area_code)")
_IDENTIFIER_CELLS = {
    "mail addresses": r"^[^@\s]+@[^@\s]+\.[^@\s]+$",
    "telephone numbers": r"^\+?[0-9][0-9 ()/.-]{6,}[0-9]$",
    "UUIDs": r"^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$",
    "IBANs": r"^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$",
    "IP addresses": r"^([0-9]{1,3}\.){3}[0-9]{1,3}$",
}
_DECIMAL = r"^(0|[1-9][0-9]*)\.[0-9]+$"  # money, not a telephone number
_DATE_FORMATS = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%Y%m%d")
_ISO = _DATE_FORMATS[0]
_FREE_TEXT = 40  # average number of characters
_NEARLY_UNIQUE = 0.5  # of the rows
_FEW = 10  # with so few values, numbers are probably codes


@dataclass(frozen=True)
class ColumnDraft:
    """The proposed settings of a column, and the reason."""

    name: str
    column: Column
    reason: str
    reasons: Mapping[str, str] = field(default_factory=dict)  # of single settings
    alike: LookAlikes = NONE_ALIKE


@dataclass(frozen=True)
class Draft:
    """A schema for someone who knows the table to check."""

    columns: tuple[ColumnDraft, ...]
    table: TableFormat
    repeats: Repeats | None = None  # repeated identifiers, perhaps of people with several rows

    @property
    def schema(self) -> Schema:
        """The draft as a schema."""
        return Schema(
            columns={d.name: d.column for d in self.columns},
            table=self.table,
            require=Require(person=self.repeats and self.repeats.person),
        )

    def to_toml(self, folder: str | Path | None = None) -> str:
        """The draft as a schema file, with the reasons as comments.

        Paths of taxonomies in a schema file are relative to it: `folder` is where it will be saved.
        """
        document = tomlkit.document()
        document.add(
            tomlkit.comment("A draft by covey. Check the role of every column before use:")
        )
        document.add(
            tomlkit.comment("identifier (removed), quasi (generalised), sensitive (kept),")
        )
        document.add(tomlkit.comment("insensitive (kept). Only quasi columns protect a person."))
        if declared := self.table.model_dump(exclude_none=True):
            document.add("table", tomlkit.item(declared))
        if self.repeats is not None:
            document.add("require", _whom(self.repeats))
        columns = tomlkit.table(is_super_table=True)
        for draft in self.columns:
            columns.add(draft.name, _toml(draft, Path(folder or ".")))
        document.add("columns", columns)
        return tomlkit.dumps(document)


def _whom(repeats: Repeats) -> tomlkit.items.Table:
    """What k counts: an active line if that is clear, otherwise advice."""
    table = tomlkit.table()
    table.add(tomlkit.comment(f"{repeats.named}: {repeats}."))
    if len(repeats.columns) > 1:
        table.add(tomlkit.comment("They identify people only in combination, but person needs a"))
        table.add(tomlkit.comment("single column: add a number for each person if there is none."))
    if repeats.person is None:
        table.add(tomlkit.comment("If people have several rows, name the column that identifies"))
        table.add(tomlkit.comment("them, so that k counts persons:"))
        table.add(tomlkit.comment('person = "COLUMN"'))
    else:
        table.add(tomlkit.comment("So k counts persons. To count rows, set person = false."))
        table.add("person", repeats.person)
    return table


def _toml(draft: ColumnDraft, folder: Path) -> tomlkit.items.Table:
    quasi = draft.column.role is Role.QUASI
    settings = draft.column.model_dump(
        mode="json", exclude_none=True, exclude={"weight"}, include=None if quasi else {"role"}
    )
    table = tomlkit.table()
    table.comment(draft.reason)
    match draft.column.taxonomy:
        case Path() as path:
            settings["taxonomy"] = Path(os.path.relpath(path, folder)).as_posix()
        case TaxonomyBuilder(build=build):
            settings["taxonomy"] = tomlkit.inline_table()
            settings["taxonomy"].update({"build": build})
    for name in draft.reasons:
        settings[name] = _plain(getattr(draft.column, name))
    for name, value in settings.items():
        item = tomlkit.item(value)
        table.add(name, item)
        if name in draft.reasons:
            item.comment(draft.reasons[name])
    if draft.alike:
        found = f"{draft.alike} look the same, in {draft.alike.rows:,} rows. To merge them:"
        table.add(tomlkit.comment(found))
        table.add(tomlkit.comment(f"normalise = {json.dumps(STEPS)}"))
    return table


def _plain(value: Any) -> Any:
    """Write whole numbers without a decimal point."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def inspect(frame: Any, *, k: int = 10, taxonomies: str | Path | None = None) -> Draft:
    """Draft a schema for a table.

    Values of numbers or dates that fewer than `k` rows reach, at either end of the scale, lie
    beyond the proposed bounds. Pass the k of the planned release, or more.
    `taxonomies` is a folder with taxonomy files in ARX's format. A file becomes a column's taxonomy
    if its name is the column's, or ends in `_` and the column's name.
    """
    table = tables.read(frame)
    if not table.frame.height:
        raise TableError("the table has no rows to inspect")
    found, k = _taxonomy_files(taxonomies), KAnonymity(k).k
    roles = [_draft(table, name, found) for name in table.frame.columns]
    again = repeats(table, [d.name for d in roles if d.column.role is Role.IDENTIFIER])
    persons = table.cells(again.person) if again is not None and again.person else None
    drafts = tuple(
        _with_look_alikes(_with_coding(draft, table, k, persons), table) for draft in roles
    )
    dialect = table.dialect
    declared = TableFormat(
        delimiter=dialect.delimiter + " " * dialect.spaced,
        skip=dialect.skip or None,
        thousands=dialect.thousands or None,
        encoding=dialect.encoding,
        decimal="," if dialect.decimal == "," else ".",
        missing=dialect.missing,
        header=None if dialect.header else False,
        names=None if dialect.header else tuple(table.frame.columns),
    )
    return Draft(drafts, declared if table.notes else TableFormat(), again)


def _with_look_alikes(draft: ColumnDraft, table: Table) -> ColumnDraft:
    """Add the number of labels that look the same, if the labels will be shown."""
    if draft.column.role is Role.IDENTIFIER or draft.column.is_ordered:
        return draft
    return replace(draft, alike=look_alikes(table.cells(draft.name)))


def _taxonomy_files(folder: str | Path | None) -> dict[str, Path]:
    if folder is None:
        return {}
    if not Path(folder).is_dir():
        raise UsageError("the folder of taxonomies does not exist")
    return {path.stem: path for path in sorted(Path(folder).glob("*.csv"))}


def _draft(table: Table, name: str, taxonomies: dict[str, Path]) -> ColumnDraft:
    cells = table.cells(name)
    present = cells.drop_nulls()
    distinct = present.n_unique()
    if distinct <= 1:
        what = "missing in every row" if not distinct else "the same in every row"
        return ColumnDraft(name, Column(role=Role.INSENSITIVE), what)
    identifying = _identifying(name, present, distinct)
    if identifying:
        return ColumnDraft(name, Column(role=Role.IDENTIFIER), identifying)
    facts = f"{distinct:,} values, {percent(cells.null_count() / len(cells))} missing"
    if _SENSITIVE_NAMES.search(_snake(name)):
        reason = f"the column name suggests a sensitive value; {facts}"
        return ColumnDraft(name, Column(role=Role.SENSITIVE), reason)
    column, kind = _quasi(table, name, present, taxonomies)
    return ColumnDraft(name, column, f"{kind} that others may know; {facts}")


def _with_coding(
    draft: ColumnDraft, table: Table, k: int, persons: pl.Series | None = None
) -> ColumnDraft:
    """Add a grid and bounds for numbers and dates, unless their cells cannot be read."""
    column, cells = draft.column, table.cells(draft.name)
    if column.role is not Role.QUASI or not column.is_ordered:
        return draft
    is_date = column.type is ColumnType.DATE
    try:
        values = (
            parse_dates(cells, column.format) if is_date else parse_numbers(cells, table.dialect)
        )
    except TableError:
        return draft
    found = tails.propose(values, k, is_date=is_date, persons=persons)
    coded = column.model_copy(update={name: setting.value for name, setting in found.items()})
    return replace(draft, column=coded, reasons={n: setting.reason for n, setting in found.items()})


def _snake(name: str) -> str:
    """The name in snake case: `PatientID` and `patient-id` become `patient_id`."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", parted.lower())


def _identifying(name: str, present: pl.Series, distinct: int) -> str | None:
    """Why the column might identify people, or None."""
    if _IDENTIFIER_NAMES.search(_snake(name)) or _IDENTIFIER_ENDS.search(name):
        return "the column name suggests an identifier"
    share = distinct / len(present)
    if present.dtype == pl.String and _date_format(present) is None:
        is_decimal = present.str.contains(_DECIMAL)
        for kind, pattern in _IDENTIFIER_CELLS.items():
            alike = (present.str.contains(pattern) & ~is_decimal).sum() / len(present)
            if alike > 0.5 and share > _NEARLY_UNIQUE:
                return f"most cells look like {kind}"
        if present.str.len_chars().mean() > _FREE_TEXT:  # type: ignore[operator]
            return "free text, which may name people"
        if share > _NEARLY_UNIQUE and not _is_numeric(present):
            return f"nearly unique: {distinct:,} values in {len(present):,} rows"
    if share == 1 and _is_running_number(present):
        return "a running number: different in every row"
    return None


def _is_numeric(present: pl.Series) -> bool:
    return present.dtype.is_numeric() or (
        present.dtype == pl.String
        and bool(present.str.contains(r"^[+-]?[0-9]*[.,]?[0-9]+([eE][+-]?[0-9]+)?$").all())
    )


def _is_running_number(present: pl.Series) -> bool:
    if present.dtype == pl.String and not present.str.contains(r"^[0-9]{1,18}$").all():
        return False
    if not present.dtype.is_integer() and present.dtype != pl.String:
        return False
    numbers = present.cast(pl.Int64, strict=False).drop_nulls()
    return len(numbers) > 20 and int(numbers.max() - numbers.min()) < 2 * len(numbers)  # type: ignore[operator, arg-type]


def _date_format(present: pl.Series) -> str | None:
    """The one common format that reads every cell; None if two do, since days may be months."""
    if present.dtype != pl.String:
        return _ISO if present.dtype.is_temporal() else None
    if not present.head(1000).str.contains(r"^[0-9]{1,4}[-./]?[0-9]{1,2}[-./]?[0-9]{1,4}$").all():
        return None
    fits = [f for f in _DATE_FORMATS if not present.str.to_date(f, strict=False).null_count()]
    return fits[0] if len(fits) == 1 and not _is_numeric(present) else None


def _quasi(
    table: Table, name: str, present: pl.Series, taxonomies: dict[str, Path]
) -> tuple[Column, str]:
    written = _date_format(present)
    longer = (path for stem, path in taxonomies.items() if stem.endswith(f"_{name}"))
    given = taxonomies.get(name) or next(longer, None)
    settings: dict[str, Any] = {"role": Role.QUASI}
    if given is not None:
        return Column(**settings, type=ColumnType.CATEGORICAL, taxonomy=given), "categories"
    if written is not None and not isinstance(present.dtype, pl.Time | pl.Duration):
        declared = None if written == _ISO else written
        return Column(**settings, type=ColumnType.DATE, format=declared), "dates"
    if _is_code(name, present):
        builder = {"build": "prefixes"}
        return Column(**settings, type=ColumnType.CATEGORICAL, taxonomy=builder), "codes"
    if present.dtype.is_numeric() or bool(
        present.dtype == pl.String and present.str.contains(table.dialect.number).all()
    ):
        if present.n_unique() <= _FEW and len(present) >= 10 * _FEW and not _has_fractions(present):
            return Column(**settings, type=ColumnType.CATEGORICAL), "a few numbers, perhaps codes,"
        return Column(**settings, type=ColumnType.NUMERIC), "numbers"
    return Column(**settings, type=ColumnType.CATEGORICAL), "categories"


def _has_fractions(present: pl.Series) -> bool:
    return not bool(present.cast(pl.String).str.contains(r"^[+-]?[0-9]+([.,]0*)?$").all())


def _is_code(name: str, present: pl.Series) -> bool:
    """Whether cells are codes to cut from the right: of one length, and named so or with zeros."""
    if present.dtype != pl.String or not present.str.contains(r"^[0-9A-Z]{3,10}$").all():
        return False
    leading_zero = bool(present.str.contains(r"^0[0-9]+$").any())
    named = _CODE_NAMES.search(_snake(name)) is not None
    return present.str.len_chars().n_unique() == 1 and (named or leading_zero)
