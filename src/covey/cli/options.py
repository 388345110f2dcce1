"""The options that commands share, each declared once and grouped by purpose.

A group is a dataclass of options. A command takes it as one parameter, and `command` expands it
for the command line.
"""

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args

from typer import Argument, Option
from typer.core import TyperCommand, TyperGroup
from typer.models import OptionInfo

from covey.cli import terminal
from covey.cli.terminal import say
from covey.errors import UsageError

if TYPE_CHECKING:
    from covey.report import About
    from covey.schema import Schema, TableFormat

Command = Callable[..., None]


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
        options: list[Parameter] = []
        for name, parameter in own.items():
            if name in groups:
                title = getattr(groups[name], "heading", "")
                options += _titled(signature(groups[name]).parameters.values(), title)
            else:
                options.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))
        options += _titled(signature(_Volume).parameters.values(), "")

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


def _titled(parameters: Iterable[Parameter], title: str) -> Iterator[Parameter]:
    """The parameters under this title of the help."""
    for parameter in parameters:
        kind, info = get_args(parameter.annotation)
        if title and isinstance(info, OptionInfo):
            info = copy(info)
            info.rich_help_panel = title
        yield parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=Annotated[kind, info])


@dataclass(frozen=True)
class _Volume:
    """How much a command says."""

    quiet: Annotated[bool, Option("--quiet", "-q", help="Say nothing but errors.")] = False
    verbose: Annotated[bool, Option("--verbose", "-v", help="Say more.")] = False


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


TablePath = Annotated[
    str, Argument(metavar="TABLE", help="File, FILE::SHEET, folder or database; - for stdin.")
]
_SCHEMA = Option(
    "--schema", "-s", metavar="TOML", help="Schema file; by default covey.toml beside the table."
)
SchemaPath = Annotated[Path | None, _SCHEMA]
K = Annotated[int | None, Option("-k", metavar="K", help="Minimum number of rows in a class.")]
AsJson = Annotated[bool, Option("--json", help="Print the result as JSON.")]
WithCurve = Annotated[
    bool, Option("--curve", help="Add the risk and the loss for each k to the report.")
]
ClassColumn = Annotated[
    str | None,
    Option(
        "--class-column", metavar="NAME", help="Column of class labels that groups should not mix."
    ),
]
MethodName = Annotated[
    str, Option(metavar="NAME", help="Clustering method; `covey methods` lists them.")
]
MethodOptions = Annotated[
    list[str] | None,
    Option("--option", "-O", metavar="NAME=VALUE", help="Option of the method; repeatable."),
]
Seed = Annotated[
    int | None, Option(help="Seed for experiments, instead of your key; anyone can replay the run.")
]
RegisterPath = Annotated[
    Path | None,
    Option("--register", metavar="FILE", help="Register of releases to use instead of your own."),
]


@dataclass(frozen=True)
class Source:
    """A table and its schema."""

    heading: ClassVar[str] = "The table"

    table: TablePath
    schema: SchemaPath = None

    @property
    def schema_file(self) -> Path:
        """The schema's file, given or found."""
        return schema_beside(self.table, self.schema)


@dataclass(frozen=True)
class BeforeAndAfter:
    """An original table, its release, and the schema of both."""

    original: Annotated[str, Argument(metavar="ORIGINAL", help="Original table.")]
    released: Annotated[str, Argument(metavar="RELEASED", help="Released table.")]
    schema: SchemaPath = None

    @property
    def schema_file(self) -> Path:
        """The schema's file, given or found."""
        return schema_beside(self.original, self.schema)


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

    title: Annotated[
        str | None, Option(metavar="TEXT", help="Title of the release, for its report.")
    ] = None
    purpose: Annotated[
        str | None, Option(metavar="TEXT", help="What the release is for, for its report.")
    ] = None
    recipient: Annotated[
        str | None, Option(metavar="TEXT", help="Who gets the release, for its report.")
    ] = None
    responsible: Annotated[
        str | None, Option(metavar="TEXT", help="Who answers for the release, for its report.")
    ] = None
    accept: Annotated[
        str | None,
        Option(metavar="REASON", help="Why open points and roles in doubt are accepted."),
    ] = None

    def about(self) -> "About | None":
        """None if nothing is said."""
        from covey.report import About

        said = About(self.title, self.purpose, self.recipient, self.responsible, self.accept)
        return None if said == About() else said


@dataclass(frozen=True)
class Format:
    """How a CSV file is written; what is not given is detected."""

    heading: ClassVar[str] = "Format of the table, detected if not given"

    delimiter: Annotated[
        str | None, Option(metavar="SIGN", help="Field delimiter of the CSV file.")
    ] = None
    encoding: Annotated[
        str | None, Option(metavar="NAME", help="Character encoding of the CSV file.")
    ] = None
    decimal: Annotated[
        str | None, Option(metavar="SIGN", help="Decimal sign of numbers, . or ,")
    ] = None
    thousands: Annotated[
        str | None, Option(metavar="SIGN", help="Sign between groups of three digits.")
    ] = None
    skip: Annotated[
        int | None, Option(metavar="LINES", help="Lines before the header of the CSV file.")
    ] = None
    missing: Annotated[
        list[str] | None,
        Option(metavar="TOKEN", help="Text that marks a missing cell; repeatable."),
    ] = None
    header: Annotated[
        bool | None,
        Option("--header/--no-header", help="Whether the CSV file starts with column names."),
    ] = None
    drop_rows: Annotated[
        list[str] | None,
        Option(
            metavar="KINDS",
            help="Leave out rows that are no people: totals, headers, notes, blank, duplicates.",
        ),
    ] = None
    keep_rows: Annotated[
        list[str] | None, Option(metavar="KINDS", help="Release rows of these kinds as people.")
    ] = None

    def declared(self) -> "TableFormat":
        """As a schema would declare it."""
        from covey.schema import Schema

        delimiter = self.delimiter and self.delimiter.replace("\\t", "\t")
        rows = {name: split(getattr(self, name)) for name in ("drop_rows", "keep_rows")}
        said = {**vars(self), "delimiter": delimiter, **rows}
        return Schema.from_dict({"columns": {}, "table": said}).table

    def schema(self, path: Path) -> "Schema":
        """The schema file, overridden by what the command line says about the table."""
        from covey.schema import Schema

        schema = Schema.from_toml(path)
        return schema.model_copy(update={"table": schema.table.declaring(self.declared())})


def split(listed: list[str] | None) -> list[str] | None:
    """The words of `a,b`, given once or more."""
    return listed and [word.strip() for text in listed for word in text.split(",")]


Person = Annotated[
    str | None, Option(metavar="COLUMN", help="Count persons, identified by this column, for k.")
]
CountRows = Annotated[
    bool, Option("--count-rows", help="Count rows for k, even if people have several.")
]
LimitShare = Annotated[
    bool, Option("--limit-share", help="Nobody has more than 1/k of the rows of a class.")
]


@dataclass(frozen=True)
class Asked:
    """The requirements given on the command line."""

    heading: ClassVar[str] = "Requirements"

    k: K = None
    person: Person = None
    count_rows: CountRows = False
    limit_share: LimitShare = False
    l: Annotated[  # noqa: E741
        list[str] | None,
        Option(
            "-l", metavar="COLUMN=L", help="l-diversity; also KIND:L or recursive:L:C; repeatable."
        ),
    ] = None
    t: Annotated[
        list[str] | None,
        Option("-t", metavar="COLUMN=T", help="t-closeness; also DISTANCE:T; repeatable."),
    ] = None
    alpha: Annotated[
        list[str] | None,
        Option(metavar="COLUMN=ALPHA", help="Largest share of one value in a class; repeatable."),
    ] = None
    beta: Annotated[
        list[str] | None,
        Option(metavar="COLUMN=BETA", help="Largest relative gain of a value; repeatable."),
    ] = None
    delta: Annotated[
        list[str] | None,
        Option(metavar="COLUMN=DELTA", help="Largest |ln q/p| of a value; repeatable."),
    ] = None

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
class AskedBesideK(Asked):
    """The requirements of a command that tries several k."""

    k: None = field(default=None, init=False)


def _by_column(settings: list[str]) -> dict[str, list[str]] | list[str]:
    """The values of each column, from `COLUMN=VALUE`; if none names a column, the values."""
    if not any("=" in setting for setting in settings):
        return settings
    asked: dict[str, list[str]] = {}
    for setting in settings:
        column, _, value = setting.rpartition("=")
        if not column:
            raise UsageError("either each of these names a column (COLUMN=VALUE), or none does")
        asked.setdefault(column, []).append(value)
    return asked


def sizes(k: str | None) -> list[int] | None:
    """Parse `5,10,50` into numbers, if given."""
    try:
        return None if k is None else [int(size) for size in k.split(",")]
    except ValueError:
        raise UsageError(
            "k must be a whole number, or several separated by commas: 5,10,50"
        ) from None
