"""The options that commands share, each declared once and grouped by purpose.

A group is a dataclass of options. A command takes it as one parameter, and `command` expands it
for the command line.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from covey.errors import UsageError

if TYPE_CHECKING:
    from covey.report import About
    from covey.schema import Schema, TableFormat

Command = Callable[..., None]


def command(help: str) -> Callable[[Command], Command]:
    """Declare a command, with each group of options expanded into its options.

    The help is not the docstring, since `python -OO` drops docstrings.
    """

    def declared(function: Command) -> Command:
        own = signature(function).parameters
        groups: dict[str, Any] = {
            name: p.annotation for name, p in own.items() if is_dataclass(p.annotation)
        }
        options: list[Parameter] = []
        for name, parameter in own.items():
            spread = signature(groups[name]).parameters.values() if name in groups else [parameter]
            options += (option.replace(kind=Parameter.KEYWORD_ONLY) for option in spread)

        @wraps(function)
        def filled(**given: Any) -> None:
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


TablePath = Annotated[str, Argument(metavar="TABLE", help="CSV or Parquet file; - for stdin.")]
_SCHEMA = Option("--schema", "-s", metavar="TOML", help="Schema: roles and types of the columns.")
SchemaPath = Annotated[Path, _SCHEMA]
OptionalSchemaPath = Annotated[Path | None, _SCHEMA]
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

    table: TablePath
    schema: SchemaPath


@dataclass(frozen=True)
class BeforeAndAfter:
    """An original table, its release, and the schema of both."""

    original: Annotated[str, Argument(metavar="ORIGINAL", help="Original table.")]
    released: Annotated[str, Argument(metavar="RELEASED", help="Released table.")]
    schema: SchemaPath


@dataclass(frozen=True)
class AboutRelease:
    """What the report says about the release, in the custodian's own words."""

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

    def about(self) -> "About | None":
        """None if nothing is said."""
        from covey.report import About

        said = About(self.title, self.purpose, self.recipient, self.responsible)
        return None if said == About() else said


@dataclass(frozen=True)
class Format:
    """How a CSV file is written; what is not given is detected."""

    delimiter: Annotated[
        str | None, Option(metavar="SIGN", help="Field delimiter of the CSV file.")
    ] = None
    encoding: Annotated[
        str | None, Option(metavar="NAME", help="Character encoding of the CSV file.")
    ] = None
    decimal: Annotated[
        str | None, Option(metavar="SIGN", help="Decimal sign of numbers, . or ,")
    ] = None
    missing: Annotated[
        list[str] | None,
        Option(metavar="TOKEN", help="Text that marks a missing cell; repeatable."),
    ] = None
    header: Annotated[
        bool | None,
        Option("--header/--no-header", help="Whether the CSV file starts with column names."),
    ] = None

    def declared(self) -> "TableFormat":
        """As a schema would declare it."""
        from covey.schema import Schema

        delimiter = self.delimiter and self.delimiter.replace("\\t", "\t")
        said = {**vars(self), "delimiter": delimiter}
        return Schema.from_dict({"columns": {}, "table": said}).table

    def schema(self, path: Path) -> "Schema":
        """The schema file, overridden by what the command line says about the table."""
        from covey.schema import Schema

        said = self.declared().model_dump(exclude_none=True)
        schema = Schema.from_toml(path)
        return schema.model_copy(update={"table": schema.table.model_copy(update=said)})


Person = Annotated[
    str | None, Option(metavar="COLUMN", help="Count persons, identified by this column, for k.")
]
CountRows = Annotated[
    bool, Option("--count-rows", help="Count rows for k, even if people have several.")
]


@dataclass(frozen=True)
class Asked:
    """The requirements given on the command line."""

    k: K = None
    person: Person = None
    count_rows: CountRows = False
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
        return schema.requiring(k=self.k, person=person, **models)


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
