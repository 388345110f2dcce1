"""A first draft of a schema, with a reason for every line and a list of findings.

The custodian decides. The reasons contain counts, never values, and invite disagreement: roles can
be given, and then only the rest is drafted.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from covey import html, tables
from covey.errors import THIN_SPACE, TableError, UsageError, count, nearest, percent
from covey.inspection import findings, relations, roles
from covey.inspection.candidates import is_of_people
from covey.inspection.coding import Coder
from covey.inspection.facts import Facts, look
from covey.inspection.findings import Finding
from covey.inspection.persons import Evidence, evidence, question
from covey.inspection.repeating import Repeating
from covey.schema import REMOVED, Column, Require, Role, Schema, TableFormat
from covey.schema.labels import STEPS
from covey.schema.requirements import KAnonymity
from covey.schema.toml import Notes, written
from covey.schema.uses import mistakes
from covey.tables import Table

HEAD = ("column", "role", "type", "shown as", "values", "missing", "unique alone", "adds", "why")


@dataclass(frozen=True)
class ColumnDraft:
    """The proposed settings of a column, the reasons, and what was counted."""

    name: str
    column: Column
    reason: str
    reasons: Mapping[str, str] = field(default_factory=dict)  # of single settings
    values: int = 0  # different ones
    missing: float = 0.0  # share of the rows
    unique: int = 0  # rows whose value no other row has
    adds: int | None = (
        None  # rows that are unique by all quasi-identifiers only because of this one
    )

    @property
    def comment(self) -> str:
        """The reason with the counts that matter, for a schema file."""
        if self.column.role in (*REMOVED, Role.INSENSITIVE):
            return self.reason
        return f"{self.reason}; {count(self.values, 'value')}, {percent(self.missing)} missing"

    @property
    def shown_as(self) -> str:
        """How the release shows the column."""
        column = self.column
        match column.role:
            case Role.IDENTIFIER | Role.DROP:
                return "removed"
            case Role.SENSITIVE | Role.INSENSITIVE:
                return "as it is"
        ends = [f"from {_text(column.bottom)}"] if column.bottom is not None else []
        ends += [f"to {_text(column.top)}"] if column.top is not None else []
        if column.grid is not None:
            unit = column.grid if isinstance(column.grid, str) else f"steps of {_text(column.grid)}"
            return ", ".join([unit, " ".join(ends)] if ends else [unit])
        if column.taxonomy is not None:
            built = getattr(column.taxonomy, "build", None)
            return str(built or "taxonomy")
        return "sets of values"

    def row(self) -> tuple[str, ...]:
        """The draft of the column as cells under `HEAD`."""
        adds = "" if self.adds is None else f"{self.adds:,}"
        kind = "" if self.column.type is None else self.column.type.value
        numbers = (f"{self.values:,}", percent(self.missing), f"{self.unique:,}", adds)
        return (self.name, self.column.role.value, kind, self.shown_as, *numbers, self.reason)


def _text(setting: Any) -> str:
    if not isinstance(setting, float):
        return str(setting)
    return f"{setting:.15g}" if abs(setting) < _LONG else f"{setting:g}"


_LONG = 1e15  # shorter numbers are read more easily without an exponent


@dataclass(frozen=True)
class Draft:
    """A schema for someone who knows the table to check."""

    columns: tuple[ColumnDraft, ...]
    table: TableFormat
    people: Evidence = field(default_factory=Evidence)  # who may be a person
    k: int = 10
    rows: int = 0
    findings: tuple[Finding, ...] = ()
    uses: tuple[str, ...] = ()  # declared by the custodian before

    @property
    def schema(self) -> Schema:
        """The draft as a schema."""
        return Schema(
            columns={d.name: d.column for d in self.columns},
            table=self.table,
            require=Require(k=self.k, person=self.people.person),
            uses=self.uses,
        )

    def to_toml(self, folder: str | Path | None = None) -> str:
        """The draft as a schema file, with the reasons as comments.

        Paths of taxonomies in a schema file are relative to it: `folder` is where it will be saved.
        """
        below: dict[str, list[str]] = {}
        for found in self.findings:
            if found.column is not None and not found.applied and found.kind not in _IN_THE_REASON:
                below.setdefault(found.column, []).extend(_advice(found))
        rows = [f for f in self.findings if "drop_rows" in f.setting and not f.applied]
        kinds = [kind for found in rows for kind in found.setting["drop_rows"]]
        notes = Notes(
            head=_HEAD_OF_FILE,
            table=[
                *(f"{found.text}." for found in rows),
                *([f"To leave them out: drop_rows = {json.dumps(kinds)}"] if rows else []),
            ],
            require=_whom(self.people),
            columns={draft.name: draft.comment for draft in self.columns},
            settings={draft.name: draft.reasons for draft in self.columns},
            below=below,
        )
        # Comments are plain text, also where they are printed.
        return written(self.schema, folder, notes).replace(THIN_SPACE, " ")

    def declaring(self, declared: TableFormat) -> "Draft":
        """The draft with what was declared about the file, besides what was detected."""
        settings = {
            name: value
            for name, value in declared.model_dump(exclude_none=True).items()
            if getattr(self.table, name) is None
        }
        if settings.get("header") is False:
            settings["names"] = tuple(draft.name for draft in self.columns)
        return replace(self, table=self.table.model_copy(update=settings))

    def keeping(self, uses: Sequence[str]) -> "Draft":
        """The draft with those of these uses whose columns it releases."""
        names = self.schema.names(Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE)
        return replace(self, uses=tuple(use for use in uses if not mistakes([use], names)))

    @property
    def summary(self) -> str:
        """The number of columns in each role."""
        given = [draft.column.role.value for draft in self.columns]
        counts = ", ".join(f"{given.count(role)} {role}" for role in dict.fromkeys(given))
        return f"{count(len(given), 'column')} drafted ({counts})"

    def __repr__(self) -> str:
        lines = [f"{d.name}: {d.column.role} ({d.reason})" for d in self.columns]
        return "\n".join([f"Draft of a schema: {self.summary}", *lines, *map(str, self.findings)])

    def _repr_html_(self) -> str:
        grid = html.table(HEAD, [draft.row() for draft in self.columns], numbers=range(4, 8))
        listed = html.element("ul", *(html.element("li", str(found)) for found in self.findings))
        return html.snippet(f"Draft of a schema: {self.summary}", grid, listed)


_HEAD_OF_FILE = (
    "A draft by covey. Check the role of every column before use:",
    "identifier (removed), quasi (generalised), sensitive (kept),",
    "insensitive (kept), drop (removed). Only quasi columns protect a person.",
)
_IN_THE_REASON = ("constant", "mostly missing")


def _advice(found: Finding) -> list[str]:
    """A finding as comments, with the setting that mends it."""
    settings = [f"{name} = {json.dumps(value)}" for name, value in found.setting.items()]
    if found.kind == "alike":
        return [f"{found.text}. To merge them:", f"normalise = {json.dumps(STEPS)}"]
    if not settings:
        return [f"{found.text}."]
    return [f"{found.text}. To mend that:", *settings]


def _whom(people: Evidence) -> list[str]:
    """What k counts: clear if there is an active line below, otherwise a question."""
    if people.together:
        return [
            f"{question(people)}.",
            "They identify people only in combination, but person needs a",
            "single column: add a number for each person if there is none.",
            "covey makes no release before you choose one of these:",
            'person = "COLUMN"',
            "person = false",
        ]
    each = [f"{one.column!r}: {one}." for one in people.candidates]
    if people.person:
        return [
            *each,
            f"So k counts people by {people.person!r}. To count rows, set person = false.",
        ]
    if each:
        lines = [f"person = {json.dumps(c.column, ensure_ascii=False)}" for c in people.candidates]
        each = [text for pair in zip(each, lines, strict=True) for text in pair]
        return [
            "Which of these is one person? covey makes no release before you choose a line.",
            *each,
            "Each row is one person:",
            "person = false",
        ]
    if people.doubtful:
        names = ", ".join(map(repr, people.doubtful))
        return [
            f"{names}: names that repeat, perhaps by coincidence. If people have several",
            "rows, name the column that identifies them:",
            'person = "COLUMN"',
        ]
    return []


# ── drafting ────────────────────────────────────────────────────────────────────────────────────


def inspect(  # noqa: PLR0913
    frame: Any,
    *,
    quasi: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    identifier: Sequence[str] = (),
    insensitive: Sequence[str] = (),
    drop: Sequence[str] = (),
    rest: str | None = None,
    k: int = 10,
    taxonomies: str | Path | None = None,
) -> Draft:
    """Draft a schema for a table.

    Columns that you name get that role; covey drafts the roles of the others, or all get the role
    `rest`. Types, grids and bounds are drafted in any case. Values of numbers or dates that fewer
    than `k` rows reach, at either end of the scale, lie beyond the proposed bounds. Pass the k of
    the planned release, or more.
    `taxonomies` is a folder with taxonomy files in ARX's format. A file becomes a column's taxonomy
    if its name is the column's, or ends in `_` and the column's name.
    """
    read = tables.read(frame)
    if not read.frame.height:
        raise TableError("the table has no rows to inspect")
    table = read.without([one for one in read.strays if one.is_clear])  # types are those of people
    columns = {
        Role.QUASI: quasi, Role.SENSITIVE: sensitive, Role.IDENTIFIER: identifier,
        Role.INSENSITIVE: insensitive, Role.DROP: drop,
    }  # fmt: skip
    given = _given(columns, rest, table.frame.columns)
    files, k = _taxonomy_files(taxonomies), KAnonymity(k).k
    looked = {name: look(table, name) for name in table.frame.columns}
    judged = {
        name: roles.Judgement(given[name], "as you say") if name in given else roles.judge(facts)
        for name, facts in looked.items()
    }
    left = {
        name: judged[name].role is Role.IDENTIFIER
        for name in looked
        if given.get(name) not in (Role.QUASI, Role.DROP) or is_of_people(name)
    }
    people = evidence(table, left, known=looked)
    if given.get(people.person or "") in (Role.QUASI, Role.DROP):
        people = replace(people, person=None)  # k cannot count it: a question
    for one in people.candidates:
        if one.column not in given and judged[one.column].role is not Role.IDENTIFIER:
            judged[one.column] = roles.Judgement(
                Role.IDENTIFIER, "it repeats like a number of people"
            )
    persons = table.cells(people.person) if people.person else None
    written_days = _agreed_format(looked.values())
    drafts = [
        _drafted(Coder(facts, table, k, persons, written_days), judged[name], _file(files, name))
        for name, facts in looked.items()
    ]
    found = (*findings.of_reading(read.notes), *findings.of_strays(read))
    draft = Draft(tuple(drafts), _declared(table), people, k, table.frame.height, found)
    draft = _with_question(_without_births(draft, looked, given), table)
    return _completed(draft, looked, persons)


def _drafted(coder: Coder, judged: roles.Judgement, taxonomy: Path | None) -> ColumnDraft:
    """The column with its settings, the reasons and the counts."""
    facts = coder.facts
    settings, reasons = coder.settings(judged.role, taxonomy)
    return ColumnDraft(
        facts.name,
        Column(role=judged.role, **settings),
        judged.reason,
        reasons,
        values=facts.distinct,
        missing=facts.missing,
        unique=facts.unique,
    )


def _without_births(draft: Draft, looked: Mapping[str, Facts], given: Mapping[str, Role]) -> Draft:
    """The draft without a date of birth beside an age, unless the caller wants to show both.

    Beside names, it stays an identifier: two people may have one name, but not one birthday too.
    """
    quasi = [looked[d.name] for d in draft.columns if d.column.role is Role.QUASI]
    born = {r.column: r for r in relations.relations(quasi) if r.is_birth and r.column not in given}
    named = any(d.column.role is Role.IDENTIFIER for d in draft.columns)
    role = Role.IDENTIFIER if named else Role.DROP
    columns = tuple(
        replace(d, column=Column(role=role), reason="a date of birth, beside an age", reasons={})
        if d.name in born
        else d
        for d in draft.columns
    )
    found = [findings.of_relation(relation, applied=True) for relation in born.values()]
    return replace(draft, columns=columns, findings=(*draft.findings, *found))


def _with_question(draft: Draft, table: Table) -> Draft:
    """The draft with the question that a release would ask: it looks at fewer columns."""
    if draft.people.person or draft.people.is_open:
        return draft
    found = Repeating.of(table, draft.schema).found(draft.schema, table.dialect)
    return replace(draft, people=replace(found, person=None)) if found.likeliest else draft


def _completed(draft: Draft, looked: Mapping[str, Facts], persons: pl.Series | None) -> Draft:
    """The draft with what the quasi-identifiers reveal together, and with its findings."""
    quasi = [looked[d.name] for d in draft.columns if d.column.role is Role.QUASI]
    unique = relations.uniqueness([facts.cells for facts in quasi])
    counted = tuple(
        replace(d, adds=unique.added_by(d.name)) if d.name in unique.without else d
        for d in draft.columns
    )
    names = [facts.name for facts in quasi]
    found = [
        *draft.findings,
        *findings.of_table(draft.people, names, unique),
        *(
            one
            for d in draft.columns
            for one in findings.of_column(looked[d.name], d.column, d.reasons)
        ),
        *(findings.of_relation(r, applied=False) for r in relations.relations(quasi, persons)),
    ]
    return replace(draft, columns=counted, findings=tuple(found))


def _declared(table: Table) -> TableFormat:
    """What was detected about the file, so that nothing has to be guessed again."""
    if not table.notes:
        return TableFormat()
    dialect = table.dialect
    return TableFormat(
        delimiter=dialect.delimiter + " " * dialect.spaced,
        skip=dialect.skip or None,
        thousands=dialect.thousands or None,
        encoding=dialect.encoding,
        decimal="," if dialect.decimal == "," else ".",
        missing=dialect.missing,
        header=None if dialect.header else False,
        names=None if dialect.header else tuple(table.frame.columns),
    )


def _given(
    columns: Mapping[Role, Sequence[str]], rest: str | None, names: Sequence[str]
) -> dict[str, Role]:
    """The roles that the caller decides."""
    given: dict[str, Role] = {}
    for role, listed in columns.items():
        for name in [listed] if isinstance(listed, str) else listed:
            if name not in names:
                raise UsageError(f"the table has no column {name!r}{nearest(name, names)}")
            if given.setdefault(name, role) is not role:
                raise UsageError(f"column {name!r} has two roles")
    if rest is None:
        return given
    if rest not in list(Role):
        raise UsageError(f"rest must be one of {', '.join(Role)}")
    return {name: given.get(name, Role(rest)) for name in names}


def _taxonomy_files(folder: str | Path | None) -> dict[str, Path]:
    if folder is None:
        return {}
    if not Path(folder).is_dir():
        raise UsageError("the folder of taxonomies does not exist")
    return {path.stem: path for path in sorted(Path(folder).glob("*.csv"))}


def _file(files: Mapping[str, Path], name: str) -> Path | None:
    longer = (path for stem, path in files.items() if stem.endswith(f"_{name}"))
    return files.get(name) or next(longer, None)


def _agreed_format(columns: Iterable[Facts]) -> frozenset[str]:
    """The formats of columns whose dates are clear: the others are written like them."""
    return frozenset(f.date.formats[0] for f in columns if f.date is not None and f.date.is_sure)
