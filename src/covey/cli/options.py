"""The options that commands share, each declared once and grouped by purpose.

A group is a dataclass of options. A command takes it as one parameter, and `command` expands it
for the command line. The words of all options are in `options.toml`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from typer import Argument, Option
from typer.core import TyperCommand, TyperGroup

from covey.cli import terminal
from covey.cli.terminal import say
from covey.declared import declared
from covey.errors import UsageError

if TYPE_CHECKING:
    from covey.report import About
    from covey.schema import Schema, TableFormat

Command = Callable[..., None]

_WORDS: dict[str, dict[str, Any]] = declared("covey.cli", "options.toml")


def command(help: str) -> Callable[[Command], Command]:
    """Declare a command, with each group of options expanded into its options.

    Every command also takes -q and -v. The help is not the docstring, since `python -OO` drops
    docstrings.
    """

    def declared(function: Command) -> Command:
        own = signature(function).parameters
        groups: dict[str, Any] = {
            name: p.annotation for name, p in own.items() if is_dataclass(p.annotation)
        }
        words = _WORDS["shared"] | _WORDS.get(function.__name__, {})
        options: list[Parameter] = []
        for name, parameter in own.items():
            if name in groups:
                title = getattr(groups[name], "heading", None)
                options += _options(signature(groups[name]).parameters.values(), words, title)
            else:
                options += _options([parameter], words)
        options += _options(signature(_Volume).parameters.values(), words)

        @wraps(function)
        def filled(**given: Any) -> None:
            terminal.set_volume(quiet=given.pop("quiet"), verbose=given.pop("verbose"))
            filled_groups = {
                name: group(**{f.name: given.pop(f.name) for f in fields(group) if f.init})
                for name, group in groups.items()
            }
            function(**given, **filled_groups)

        filled.__doc__ = help
        filled.__annotations__ = {option.name: option.annotation for option in options}
        filled.__signature__ = Signature(options)  # type: ignore[attr-defined]
        return filled

    return declared


def _options(
    parameters: Iterable[Parameter], words: dict[str, dict[str, Any]], title: str | None = None
) -> list[Parameter]:
    """The parameters as options, under this title of the help."""
    found = []
    for parameter in parameters:
        settings = {"flags": [f"--{parameter.name.replace('_', '-')}"], **words[parameter.name]}
        flags = settings.pop("flags")
        kind, is_argument = parameter.annotation, settings.pop("argument", False)
        info = (
            Argument(**settings)
            if is_argument
            else Option(*flags, rich_help_panel=title, **settings)
        )
        found.append(
            parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=Annotated[kind, info])
        )
    return found


@dataclass(frozen=True)
class _Volume:
    """How much a command says."""

    quiet: bool = False
    verbose: bool = False


class Commands(TyperGroup):
    """All commands, each with its whole help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands in the order of their declaration."""
        named = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        with formatter.section("Commands"):
            formatter.write_dl([(name, found.help or "") for name, found in named if found])


class GroupedCommand(TyperCommand):
    """A command whose help lists options under titles, and cuts nothing."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options by title."""
        titles: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                titles.setdefault(_title_of(parameter), []).append(record)
        for title, records in titles.items():
            with formatter.section(title):
                formatter.write_dl(records)


def _title_of(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return "Arguments"
    return getattr(parameter, "rich_help_panel", None) or "Options"


@dataclass(frozen=True)
class Original:
    """A table and its schema."""

    heading: ClassVar[str] = "The table"

    table: str
    schema: Path | None = None


@dataclass(frozen=True)
class BeforeAndAfter:
    """An original table, its release, and the schema of both."""

    original: str
    released: str
    schema: Path | None = None


SCHEMA_NAME = "covey.toml"


def schema_beside(table: str, given: Path | None) -> Path:
    """The schema's file: the given one, or covey.toml in the folder of the table."""
    if given is not None:
        return given
    found = found_beside(table)
    if found is None:
        raise UsageError(
            f"no schema given, and no {SCHEMA_NAME} beside the table: pass --schema, or draft one "
            f"with `covey inspect TABLE -o {SCHEMA_NAME}`"
        )
    say(f"using the schema {found}")
    return found


def found_beside(table: str) -> Path | None:
    """The file covey.toml in the folder of a table, if there is one."""
    from covey.tables import sources

    place = sources.of(table)
    folder = Path() if place.place == "-" or place.is_address else Path(place.place).parent
    return folder / SCHEMA_NAME if sources.is_file(str(folder / SCHEMA_NAME)) else None


@dataclass(frozen=True)
class AboutRelease:
    """What the report says about the release, in the custodian's own words."""

    heading: ClassVar[str] = "Report"

    title: str | None = None
    purpose: str | None = None
    recipient: str | None = None
    responsible: str | None = None
    accept: str | None = None

    def about(self) -> "About | None":
        """None if nothing is said."""
        from covey.report import About

        about = About(self.title, self.purpose, self.recipient, self.responsible, self.accept)
        return None if about == About() else about


@dataclass(frozen=True)
class Format:
    """How a CSV file is written; what is not given is detected."""

    heading: ClassVar[str] = "Format of the table, detected if not given"

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    skip: int | None = None
    missing: list[str] | None = None
    header: bool | None = None
    drop_rows: list[str] | None = None
    keep_rows: list[str] | None = None

    def declared(self) -> "TableFormat":
        """As a schema would declare it."""
        from covey.schema import Schema

        delimiter = self.delimiter and self.delimiter.replace("\\t", "\t")
        rows = {name: split(getattr(self, name)) for name in ("drop_rows", "keep_rows")}
        settings = {**vars(self), "delimiter": delimiter, **rows}
        return Schema.from_dict({"columns": {}, "table": settings}).table

    def schema(self, path: Path) -> "Schema":
        """The schema file, overridden by what the command line says about the table."""
        from covey.schema import Schema

        schema = Schema.from_toml(path)
        return schema.model_copy(update={"table": schema.table.declaring(self.declared())})


def split(listed: list[str] | None) -> list[str] | None:
    """The words of `a,b`, given once or more."""
    return listed and [word.strip() for text in listed for word in text.split(",")]


@dataclass(frozen=True)
class Required:
    """The requirements given on the command line."""

    heading: ClassVar[str] = "Requirements"

    k: int | None = None
    person: str | None = None
    count_rows: bool = False
    limit_share: bool = False
    l: list[str] | None = None  # noqa: E741 - its name in the literature
    t: list[str] | None = None
    alpha: list[str] | None = None
    beta: list[str] | None = None
    delta: list[str] | None = None

    def applied(self, schema: "Schema") -> "Schema":
        """The schema, with its requirements replaced by those given here, model by model."""
        models = {
            model: _by_column(getattr(self, model) or []) or None
            for model in ("l", "t", "alpha", "beta", "delta")
        }
        person = counted(self.person, count_rows=self.count_rows)
        share = self.limit_share or None
        return schema.requiring(k=self.k, person=person, limit_share=share, **models)


def counted(person: str | None, *, count_rows: bool) -> str | Literal[False] | None:
    """What k counts: the column that identifies persons, or False for rows."""
    if person is not None and count_rows:
        raise UsageError(
            "k counts either persons or rows: pass only one of --person and --count-rows"
        )
    return False if count_rows else person


@dataclass(frozen=True)
class RequiredBesideK(Required):
    """The requirements of a command that tries several k."""

    k: None = field(default=None, init=False)


def _by_column(settings: list[str]) -> dict[str, list[str]] | list[str]:
    """The values of each column, from `COLUMN=VALUE`; if none names a column, the values."""
    if not any("=" in setting for setting in settings):
        return settings
    values: dict[str, list[str]] = {}
    for setting in settings:
        column, _, value = setting.rpartition("=")
        if not column:
            raise UsageError("either each of these names a column (COLUMN=VALUE), or none does")
        values.setdefault(column, []).append(value)
    return values


def sizes(k: str | None) -> list[int] | None:
    """Parse `5,10,50` into numbers, if given."""
    try:
        return None if k is None else [int(size) for size in k.split(",")]
    except ValueError:
        raise UsageError(
            "k must be a whole number, or several separated by commas: 5,10,50"
        ) from None
