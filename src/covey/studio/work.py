"""What the custodian has decided so far: the table, its schema, and the request for a release.

A work is a value. Each decision makes a new one, and the old ones are what undo goes back to. It
holds no cell, only what a schema file and a command line would hold, so it can be saved and opened
again.
"""

import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import tomlkit
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from covey.clustering.efforts import PLANS
from covey.declared import declared
from covey.errors import SchemaError, UsageError, count
from covey.generalisation import Style
from covey.report import About
from covey.schema import Schema, TableFormat
from covey.tables import sources

EFFORTS = tuple(PLANS)
OBJECTIVES = ("loss", "sse")
SCHEMA_FILE = "covey.toml"


@dataclass(frozen=True)
class TablePlace:
    """Where the table is, and what the page calls it."""

    place: str = field(repr=False)  # a path, or the address of a database; may have a part
    is_upload: bool = False

    @property
    def name(self) -> str:
        """The name of the file, without its folders, and its part."""
        return sources.of(self.place).name

    @property
    def stem(self) -> str:
        """The name of the file without folders, part and endings, for names of other files."""
        name = Path(sources.of(self.place).place).name
        return name.split(".")[0] or "table"

    @property
    def typed(self) -> str:
        """How a command names it: an upload by its name alone, since its own folder is unknown."""
        place = sources.of(self.place)
        part = f"::{place.part}" if place.part else ""
        name = Path(place.place).name + part if self.is_upload else sources.typed(self.place)
        return f"./{name}" if name.startswith("-") else name  # or it would be read as an option

    def part(self, name: str) -> "TablePlace":
        """The part of the same file with this name."""
        return replace(self, place=f"{sources.of(self.place).place}::{name}")


@dataclass(frozen=True)
class Work:
    """All decisions, in the order of the steps."""

    source: TablePlace | None = None
    format: TableFormat = field(default_factory=TableFormat)  # what was corrected by hand
    schema: Schema | None = None
    effort: str = "balanced"
    objective: str = "loss"
    max_suppressed: float = 0.0
    value_sets: bool = False
    low_high: bool = False
    about: About = field(default_factory=About)
    certificate: bool = True
    checked: frozenset[str] = frozenset()  # steps and points that the custodian has confirmed

    def __post_init__(self) -> None:
        if self.effort not in EFFORTS:
            raise UsageError(f"the effort must be one of {', '.join(EFFORTS)}")
        if self.objective not in OBJECTIVES:
            raise UsageError(f"the objective must be one of {', '.join(OBJECTIVES)}")
        if not 0 <= self.max_suppressed <= 0.5:
            raise UsageError("at most half of the rows may be suppressed")

    @property
    def described(self) -> Schema:
        """The schema, which there must be."""
        if self.schema is None:
            raise UsageError("no table is open: open one first")
        return self.schema

    @property
    def opened(self) -> TablePlace:
        """The table, which there must be."""
        if self.source is None:
            raise UsageError("no table is open: open one first")
        return self.source

    @property
    def options(self) -> dict[str, Any]:
        """The options of the method that differ from their defaults."""
        names = ("effort", "objective", "max_suppressed")
        own = {name: getattr(self, name) for name in names}
        return {name: value for name, value in own.items() if value != getattr(Work, name)}

    @cached_property
    def toml(self) -> str:
        """The text of the schema file."""
        return "" if self.schema is None else self.schema.to_toml()

    @cached_property
    def made_of(self) -> tuple[Any, ...]:
        """All that a release depends on: two works with the same value give the same bytes."""
        return self.source, self.toml, self.options, self.style

    @cached_property
    def without_models(self) -> Schema | None:
        """The schema without requirements, of which prices depend only on whom k counts."""
        if self.schema is None:
            return None
        require = type(self.schema.require)(person=self.schema.require.person)
        return self.schema.model_copy(update={"require": require})

    @property
    def style(self) -> Style:
        """How the cells of a group are written."""
        return Style(
            "values" if self.value_sets else "ancestor", "columns" if self.low_high else "text"
        )

    def command(self, output: str) -> str:
        """The command that makes the same release."""
        words = ["covey", "anonymize", self.opened.typed, "--schema", SCHEMA_FILE, "-o", output]
        for name, value in self.options.items():
            words += [f"--{name.replace('_', '-')}", str(value)]
        words += ["--value-sets"] * self.value_sets + ["--low-high"] * self.low_high
        words += ["--report", "report.html", "--report", "report.json"]
        words += ["--certificate"] * self.certificate
        for name, text in self.about_texts.items():
            words += [f"--{name}", text]
        return shlex.join(words)

    @property
    def about_texts(self) -> dict[str, str]:
        """What the custodian says about the release."""
        return {name: text for name, text in asdict(self.about).items() if text}

    # ── saved and opened again ──────────────────────────────────────────────────────────────────

    def to_toml(self) -> str:
        """The work as a file: the schema and the request, no cell of the table.

        Trees are written out, since their files may not be there when the work is opened again.
        """
        document = tomlkit.document()
        document.add(tomlkit.comment("The work of covey studio: the schema and the request."))
        document.add("studio", 1)
        if self.source is not None and not self.source.is_upload:
            document.add("table", sources.typed(self.source.place))
        document.add("request", {name: getattr(self, name) for name in _Request.model_fields})
        document.add("checked", sorted(self.checked))
        document.add("about", self.about_texts)
        document.add("schema", self.toml)
        return tomlkit.dumps(document)

    def reopened(self, text: str) -> Self:
        """This work's table with the decisions of a saved one."""
        try:
            saved = tomllib.loads(text)
            if saved.get("studio") != 1:
                return self._described_by(text)
            read = _Saved.model_validate(saved)
        except (tomllib.TOMLDecodeError, RecursionError, ValidationError):
            raise SchemaError("this is no saved work of covey studio") from None
        about, checked = About(**read.about), frozenset(read.checked)
        opened = replace(self, about=about, checked=checked, **dict(read.request))
        return opened._described_by(read.text)

    def _described_by(self, text: str) -> Self:
        """With the schema in this text, as a schema file holds it."""
        schema = schema_of(text)
        files = [n for n, column in schema.columns.items() if isinstance(column.taxonomy, Path)]
        if files:
            raise SchemaError(
                f"column {files[0]!r} takes its tree from a file, which does not come with a "
                "schema: remove the line, and read the tree from its file in step 3"
            )
        return replace(self, schema=schema, format=schema.table)


class _Request(BaseModel):
    """The request in a saved work."""

    model_config = ConfigDict(strict=True)

    effort: str = "balanced"
    objective: str = "loss"
    max_suppressed: float = 0.0
    value_sets: bool = False
    low_high: bool = False
    certificate: bool = True


class _Saved(BaseModel):
    """A saved work."""

    model_config = ConfigDict(strict=True)

    request: _Request
    about: dict[Literal["title", "purpose", "recipient", "responsible", "accept"], str] = {}
    checked: list[str]
    text: str = Field(alias="schema")


def written_out(schema: Schema) -> Schema:
    """The schema as its file describes it, with the trees of taxonomy files written out.

    So what the studio shows and uses is what the file says, wherever it will be.
    """
    trees = {
        name: column.taxonomy_over([])
        for name, column in schema.columns.items()
        if isinstance(column.taxonomy, Path)
    }
    for name, tree in trees.items():
        schema = schema.with_settings(name, taxonomy=tree)
    return schema_of(schema.to_toml())


def schema_of(toml: str) -> Schema:
    """The schema in the text of a schema file."""
    try:
        return Schema.from_dict(tomllib.loads(toml))
    except (tomllib.TOMLDecodeError, RecursionError):
        raise SchemaError("the schema is not valid TOML") from None


def without_requirement(schema: Schema, model: str, name: str) -> Schema:
    """The schema without what a model requires of a column."""
    kept = {on: setting for on, setting in getattr(schema.require, model).items() if on != name}
    require = schema.require.model_copy(update={model: kept})
    return schema.model_copy(update={"require": require})


@dataclass
class History:
    """The work now, and the works before it."""

    now: Work = field(default_factory=Work)
    _before: list[Work] = field(default_factory=list)
    _moving: str | None = None  # what is being moved, as a slider is

    def decide(self, work: Work, moving: str | None = None) -> None:
        """Go on with this work. Undo takes all moves of the same thing in a row as one.

        What was accepted of one release is not accepted of another.
        """
        if work == self.now:
            return
        if work.made_of != self.now.made_of:
            work = replace(work, about=replace(work.about, accept=None))
        if moving is None or moving != self._moving:
            self._before = [*self._before[-(_MOST - 1) :], self.now]
        self.now, self._moving = work, moving

    def change(self, **decided: Any) -> None:
        """Decide one thing."""
        self.decide(replace(self.now, **decided))

    def move(self, what: str, **decided: Any) -> None:
        """Decide one thing that is being moved, as a slider is."""
        self.decide(replace(self.now, **decided), moving=what)

    @property
    def can_undo(self) -> bool:
        """Whether there is a work to go back to."""
        return bool(self._before)

    @property
    def last(self) -> str:
        """What undo would take back, in a few words; empty if there is nothing."""
        return next(_differences(self._before[-1], self.now), "") if self._before else ""

    def undo(self) -> None:
        """Go back to the work before the last decision."""
        if self._before:
            self.now, self._moving = self._before.pop(), None


def _differences(before: Work, now: Work) -> Iterator[str]:
    """What differs between two works, the most important first."""
    if before.source != now.source:
        yield "table"
    if before.format != now.format:
        yield "how it is read"
    if before.schema is not None and now.schema is not None:
        yield from _schema_differences(before.schema, now.schema)
    for name, text in DECISIONS.items():
        if getattr(before, name) != getattr(now, name):
            yield text


def _schema_differences(before: Schema, now: Schema) -> Iterator[str]:
    changed = [n for n, column in now.columns.items() if column != before.columns.get(n)]
    if changed:
        yield changed[0] if len(changed) == 1 else count(len(changed), "column")
    if before.require.k != now.require.k:
        yield "k"
    if before.require != now.require:
        yield "requirements"
    if before.uses != now.uses:
        yield "uses"


DECISIONS: dict[str, str] = declared("covey.studio", "words.toml")["decisions"]
_MOST = 200  # works that undo can go back to
