"""The options that commands share, each declared once, and in groups that say what they mean.

A group is a dataclass of options. A command takes it as one parameter, and `command` spreads it out
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
    from covey.schema import Schema, TableFormat

Command = Callable[..., None]


def command(help: str) -> Callable[[Command], Command]:
    """Declare a command: each group of options among its parameters is spread into its options.

    The help is not the docstring, since `python -OO` forgets those.
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


TablePath = Annotated[str, Argument(metavar="TABLE", help="CSV or Parquet file, - for stdin.")]
_SCHEMA = Option("--schema", "-s", metavar="TOML", help="Roles and types.")
SchemaPath = Annotated[Path, _SCHEMA]
OptionalSchemaPath = Annotated[Path | None, _SCHEMA]
K = Annotated[int | None, Option("-k", metavar="K", help="Rows that must be alike, at least.")]
AsJson = Annotated[bool, Option("--json", help="Print the result as JSON.")]
WithCurve = Annotated[bool, Option("--curve", help="Show in the report what each k would cost.")]
ClassColumn = Annotated[
    str | None,
    Option("--class-column", metavar="NAME", help="Column whose classes should stay apart."),
]
MethodName = Annotated[str, Option(metavar="NAME", help="See `covey methods`.")]
MethodOptions = Annotated[
    list[str] | None,
    Option("--option", "-O", metavar="NAME=VALUE", help="Of the method; repeatable."),
]
Seed = Annotated[
    int | None, Option(help="Seed for experiments, instead of the key; can be replayed.")
]
RegisterPath = Annotated[
    Path | None,
    Option("--register", metavar="FILE", help="Register of releases, instead of your own."),
]


@dataclass(frozen=True)
class Source:
    """A table and its schema."""

    table: TablePath
    schema: SchemaPath


@dataclass(frozen=True)
class BeforeAndAfter:
    """A table, what was released of it, and the schema of both."""

    original: Annotated[str, Argument(metavar="ORIGINAL", help="The table before.")]
    released: Annotated[str, Argument(metavar="RELEASED", help="The table after.")]
    schema: SchemaPath


@dataclass(frozen=True)
class Format:
    """How a CSV file is written, where that is not to be detected."""

    delimiter: Annotated[str | None, Option(metavar="SIGN", help="Of the CSV file.")] = None
    encoding: Annotated[str | None, Option(metavar="NAME", help="Of the CSV file.")] = None
    decimal: Annotated[str | None, Option(metavar="SIGN", help="Of its numbers, . or ,")] = None
    missing: Annotated[
        list[str] | None,
        Option(metavar="TOKEN", help="What a missing cell holds; repeatable."),
    ] = None
    header: Annotated[
        bool | None,
        Option("--header/--no-header", help="Whether the first line of the CSV file has names."),
    ] = None

    def declared(self) -> "TableFormat":
        """As a schema would declare it."""
        from covey.schema import Schema

        delimiter = self.delimiter and self.delimiter.replace("\\t", "\t")
        said = {**vars(self), "delimiter": delimiter}
        return Schema.from_dict({"columns": {}, "table": said}).table

    def schema(self, path: Path) -> "Schema":
        """The schema file, with what the command line says about the table instead."""
        from covey.schema import Schema

        said = self.declared().model_dump(exclude_none=True)
        schema = Schema.from_toml(path)
        return schema.model_copy(update={"table": schema.table.model_copy(update=said)})


@dataclass(frozen=True)
class Asked:
    """The requirements that a command line asks for."""

    k: K = None
    person: Annotated[
        str | None,
        Option(metavar="COLUMN", help="Count persons by this column for k, instead of rows."),
    ] = None
    count_rows: Annotated[
        bool, Option("--count-rows", help="Count rows for k, even if people have several.")
    ] = False
    l: Annotated[  # noqa: E741
        list[str] | None,
        Option("-l", metavar="COLUMN=L", help="Also KIND:L, recursive:L:C; repeatable."),
    ] = None
    t: Annotated[
        list[str] | None,
        Option("-t", metavar="COLUMN=T", help="Also DISTANCE:T; repeatable."),
    ] = None
    alpha: Annotated[
        list[str] | None,
        Option(metavar="COLUMN=ALPHA", help="Largest share of a value; repeatable."),
    ] = None
    beta: Annotated[
        list[str] | None,
        Option(metavar="COLUMN=BETA", help="Largest gain of a value; repeatable."),
    ] = None
    delta: Annotated[
        list[str] | None,
        Option(metavar="COLUMN=DELTA", help="Largest |ln q/p| of a value; repeatable."),
    ] = None

    def applied(self, schema: "Schema") -> "Schema":
        """The schema with what the command line asks for, model by model, instead of its own."""
        from covey.schema import Schema
        from covey.schema.requirements import KAnonymity

        person = self._counted()
        if self.k is not None:
            KAnonymity(self.k, person)  # says more about a wrong k than the schema does
        said: dict[str, Any] = {"k": self.k, "person": person}
        for model in ("l", "t", "alpha", "beta", "delta"):
            said[model] = _by_column(model, getattr(self, model) or []) or None
        said = {name: value for name, value in said.items() if value is not None}
        asked = {**schema.require.model_dump(exclude_unset=True), **said}
        checked = Schema.from_dict({"columns": schema.columns, "require": asked})
        return schema.model_copy(update={"require": checked.require})

    def _counted(self) -> str | Literal[False] | None:
        """Whom k counts: persons by a column, or rows if that is said."""
        if self.person is not None and self.count_rows:
            raise UsageError("k counts persons or rows: give --person or --count-rows")
        return False if self.count_rows else self.person


@dataclass(frozen=True)
class AskedBesideK(Asked):
    """The requirements of a command that takes several k, each in turn."""

    k: None = field(default=None, init=False)


def _by_column(model: str, settings: list[str]) -> dict[str, list[str]]:
    """What a model asks of each column, from `COLUMN=VALUE`."""
    asked: dict[str, list[str]] = {}
    for setting in settings:
        column, _, value = setting.rpartition("=")
        if not column:
            raise UsageError(f"{model} is asked of a column, as COLUMN=VALUE")
        asked.setdefault(column, []).append(value)
    return asked


def sizes(k: str | None) -> list[int] | None:
    """The k of `5,10,50`, if any are given."""
    try:
        return None if k is None else [int(size) for size in k.split(",")]
    except ValueError:
        raise UsageError("k is a whole number, or several with commas between: 5,10,50") from None
