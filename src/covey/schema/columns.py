"""The schema of a table: the role and type of each column, and how to generalise it.

The command line and the library read the same TOML file. covey refuses a table with a column that
has no role; it never passes such a column through, and never assumes a quasi-identifier.
"""

import hashlib
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args

import polars as pl
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    PlainValidator,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)

from covey.errors import SchemaError, TaxonomyError, nearest
from covey.schema import taxonomy as trees
from covey.schema.labels import Step, normalised
from covey.schema.requirements import (
    SENSITIVE_MODELS,
    KAnonymity,
    PersonShare,
    Requirement,
    SensitiveRequirement,
)
from covey.schema.taxonomy import Measure, Taxonomy
from covey.schema.uses import Use, mistakes


class Role(StrEnum):
    """What a column reveals about a person. It decides what a release does with the column."""

    IDENTIFIER = "identifier"  # names the person: removed
    QUASI = "quasi"  # known to others, and identifying in combination: generalised
    SENSITIVE = "sensitive"  # must not be linked to a person: released as it is
    INSENSITIVE = "insensitive"  # harmless: released as it is
    DROP = "drop"  # not wanted: removed, and never looked at to recognise a person


REMOVED = (Role.IDENTIFIER, Role.DROP)  # such a column may be absent from the table


class ColumnType(StrEnum):
    """The type of the values of a column."""

    NUMERIC = "numeric"
    CATEGORICAL = "categorical"
    DATE = "date"


class MissingPolicy(StrEnum):
    """How to treat a row with a missing cell in this column."""

    CATEGORY = "category"  # missing is a value like any other
    WILDCARD = "wildcard"  # a missing cell matches any value: the row shows the values of its group
    DROP_ROW = "drop-row"  # the row is suppressed, and counted
    ERROR = "error"  # the table is refused


# From here on, a float64 cannot represent every whole number.
LARGEST = 2.0**53
SMALLEST_GRID = 1e-9

# The types that a setting is for.
BELONGS_TO = {
    "taxonomy": (ColumnType.CATEGORICAL,),
    "domain": (ColumnType.NUMERIC,),
    "render": (ColumnType.NUMERIC,),
    "normalise": (ColumnType.CATEGORICAL,),
    "recode": (ColumnType.CATEGORICAL,),
    "format": (ColumnType.DATE,),
    "unreadable": (ColumnType.NUMERIC, ColumnType.DATE),
}

DateGrid = Literal["hour", "day", "week", "month", "quarter", "year"]
Render = Literal["mean", "median"]
# Of rows that are no people, or stand there already.
RowKind = Literal["totals", "headers", "notes", "blank", "duplicates"]


class _Model(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, arbitrary_types_allowed=True
    )


class TaxonomyBuilder(_Model):
    """A taxonomy built from the values of the column."""

    build: Literal["flat", "intervals", "prefixes", "dates"]
    widths: tuple[Annotated[float, Field(gt=0, allow_inf_nan=False)], ...] = ()
    origin: float = Field(default=0, allow_inf_nan=False)
    lengths: tuple[Annotated[int, Field(gt=0)], ...] | None = None

    @model_validator(mode="after")
    def _intervals_have_widths(self) -> Self:
        if self.build == "intervals" and not self.widths:
            raise ValueError("a taxonomy of intervals needs widths, such as widths = [5, 10, 20]")
        return self

    def over(self, values: Collection[str]) -> Taxonomy:
        """Build the taxonomy over these values."""
        match self.build if values else "flat":
            case "flat":
                return trees.flat(values)
            case "intervals":
                return trees.intervals(values, self.widths, self.origin)
            case "prefixes":
                return trees.prefixes(values, self.lengths)
            case "dates":
                return trees.dates(values)


TaxonomySource = Taxonomy | TaxonomyBuilder | Path | dict[str, Any]


def _taxonomy_source(value: object) -> TaxonomySource | None:
    """Accept a tree, a builder `{ build = "prefixes" }`, a file path or a nested tree."""
    match value:
        case None | Taxonomy() | TaxonomyBuilder() | Path():
            return value
        case str():
            return Path(value)
        case Mapping() if isinstance(value.get("build"), str):
            return TaxonomyBuilder.model_validate(value)
        case Mapping():
            return dict(value)
        case _:
            raise ValueError("a taxonomy must be a file name, a nested table, or { build = ... }")


EPOCH = date(1970, 1, 1)


def _bound(value: object) -> float | date | None:
    """Read a bound: a number or a date; a text must be an ISO date."""
    match value:
        case bool() | datetime():
            pass
        case None | date():
            return value
        case int() | float() if abs(value) < LARGEST:
            return value + 0.0  # turns a negative zero into zero
        case str() if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
            return date.fromisoformat(value)
    raise ValueError("a bound must be a number within ±2^53, or a date such as 1990-01-31")


Bound = Annotated[float | date | None, BeforeValidator(_bound)]


def _missing_value(value: object) -> object:
    """Read a value that means missing: a number, a text, or a date."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("a value that means missing must be a number, a text or a date")
    return value


MissingValue = Annotated[int | float | str, BeforeValidator(_missing_value)]


class Column(_Model):
    """One column.

    The role applies to every column. All other settings apply to quasi-identifiers; a sensitive
    column also uses `type` and `taxonomy`, which define the distance between its values. A column
    that is released as it is may be `confirmed`: why nobody outside knows its values.
    """

    role: Role
    type: ColumnType | None = None
    weight: float = Field(default=1.0, ge=1e-6, le=1e6)  # so that sums of losses stay finite
    missing: MissingPolicy = MissingPolicy.CATEGORY
    missing_values: tuple[MissingValue, ...] | None = None  # mean missing here, such as 999
    unreadable: Literal["refuse", "missing"] | None = None  # what is no number or date
    grid: float | DateGrid | None = None
    bottom: Bound = None  # lower values are replaced by it, and shown as "20 and less"
    top: Bound = None
    domain: tuple[FiniteFloat, FiniteFloat] | None = None
    render: Render | None = None  # one number for a group, instead of an interval
    taxonomy: Annotated[TaxonomySource | None, PlainValidator(_taxonomy_source)] = None
    format: str | None = None
    normalise: tuple[Step, ...] | None = None
    recode: dict[str, str] | None = None  # other labels for some, after `normalise`
    confirmed: Annotated[str, Field(max_length=500)] | None = None  # why others do not know it

    @model_validator(mode="after")
    def _settings_fit_the_type(self) -> Self:
        judged = self.role is Role.SENSITIVE and self.type is not None
        wrong = list(self._misfits()) if self.role is Role.QUASI or judged else []
        if self.domain is not None and not -LARGEST < self.domain[0] < self.domain[1] < LARGEST:
            wrong.append("a domain must be a lower and a higher number, both within ±2^53")
        wrong += self._misfits_of_bounds()
        if self.render is not None and self.role in (Role.SENSITIVE, Role.INSENSITIVE):
            wrong.append(f'"render" is only for role = "quasi"; {self.role} cells never change')
        wrong += self._misfits_of_confirmation()
        if wrong:
            raise ValueError("; ".join(wrong))
        return self

    def _misfits_of_confirmation(self) -> Iterator[str]:
        """Find a confirmation that says nothing, or of a column that nobody has to confirm."""
        if self.confirmed is None:
            return
        if not self.confirmed.strip():
            yield '"confirmed" must say why nobody outside knows the values'
        if self.role not in (Role.SENSITIVE, Role.INSENSITIVE):
            yield '"confirmed" is only for columns that are released as they are'

    def _misfits(self) -> Iterator[str]:
        """Find settings that do not fit the type of a column that has a type or needs one."""
        if self.type is None:
            yield 'a quasi-identifier needs a type: "numeric", "categorical" or "date"'
            return
        for name, kinds in BELONGS_TO.items():
            if getattr(self, name) is not None and self.type not in kinds:
                fits = " or ".join(f'"{kind}"' for kind in kinds)
                yield f'"{name}" is only for type = {fits}, not for "{self.type}"'
        if self.grid is None:
            return
        if self.type is ColumnType.CATEGORICAL:
            yield '"grid" is only for numbers and dates; use a taxonomy for categories'
        elif (self.type is ColumnType.DATE) is not isinstance(self.grid, str):
            units = ", ".join(f'"{unit}"' for unit in get_args(DateGrid))
            yield f"the grid of numbers must be a number; of dates, one of {units}"
        elif not isinstance(self.grid, str) and not SMALLEST_GRID <= self.grid <= LARGEST:
            yield "a grid must be a number between 1e-9 and 2^53"

    def _misfits_of_bounds(self) -> Iterator[str]:
        """Find mistakes in bottom and top: users would rely on a bound that had no effect."""
        given = [bound for bound in (self.bottom, self.top) if bound is not None]
        if not given or self.is_removed:
            return
        if self.role is not Role.QUASI:
            yield f'"bottom" and "top" are only for role = "quasi"; {self.role} cells never change'
        elif not self.is_ordered or any(
            isinstance(bound, date) is not (self.type is ColumnType.DATE) for bound in given
        ):
            yield '"bottom" and "top" must be numbers, or dates such as 1990-01-31, like the column'
        elif not self.bounds[0] < self.bounds[1]:
            yield '"bottom" must be below "top"'
        elif self.domain and any(
            isfinite(bound) and not self.domain[0] <= bound <= self.domain[1]
            for bound in self.bounds
        ):
            yield '"bottom" and "top" must lie within the domain'

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that differ from their defaults."""
        fields = type(self).model_fields
        return {name: value for name, value in self if value != fields[name].default}

    @property
    def bounds(self) -> tuple[float, float]:
        """`bottom` and `top`, infinite if not set; dates as days since 1970-01-01."""
        low, high = (
            (bound - EPOCH).days if isinstance(bound, date) else bound
            for bound in (self.bottom, self.top)
        )
        return (-inf if low is None else float(low), inf if high is None else float(high))

    @property
    def is_removed(self) -> bool:
        """Whether a release is without the column."""
        return self.role in REMOVED

    @property
    def is_ordered(self) -> bool:
        """Whether the declared type has an order."""
        return self.type in (ColumnType.NUMERIC, ColumnType.DATE)

    @property
    def has_own_tree(self) -> bool:
        """Whether the taxonomy is built from the values of the column, not declared."""
        return isinstance(self.taxonomy, TaxonomyBuilder | None)

    def taxonomy_over(self, values: Collection[str]) -> Taxonomy:
        """The tree of the column, built from `values` unless the schema declares one.

        Its leaves are normalised like the cells of the column, so that they match.
        """
        tree = self._tree_over(values)
        if not self.normalise or self.has_own_tree:
            return tree
        return tree.with_leaves(normalised(pl.Series(tree.leaves), self.normalise).to_list())

    def _tree_over(self, values: Collection[str]) -> Taxonomy:
        match self.taxonomy:
            case None:
                return trees.flat(values)
            case Taxonomy():
                return self.taxonomy
            case TaxonomyBuilder():
                return self.taxonomy.over(values)
            case Path():
                return trees.read_arx(self.taxonomy)
            case _:
                return trees.from_nested(self.taxonomy)


class Require(_Model):
    """The `[require]` table of a schema file.

    A model for sensitive values has one setting for each column: a number, a text that the model
    parses, or a list of these.
    """

    k: int | None = Field(default=None, strict=True, ge=2)
    person: str | Literal[False] | None = None
    limit_share: bool = Field(default=False, strict=True)  # nobody has more than 1/k of a class
    # What to do if earlier releases weaken this one, or so that they do not.
    composition: Literal["warn", "refuse", "follow", "only-new"] = "warn"
    reserve: int = Field(default=0, strict=True, ge=0)  # more than k rows in each new group
    shrunk: Literal["leave-out", "keep"] = "leave-out"  # who lost too many of their class
    minimality: Literal["refuse", "accept"] = "refuse"  # a k too small for rows of rare values

    @field_validator(*SENSITIVE_MODELS, check_fields=False)
    @classmethod
    def _settings_can_be_read(cls, settings: dict[str, Any], field: ValidationInfo) -> Any:
        wrong = []
        for on, setting in settings.items():
            try:
                _parsed(str(field.field_name), on, setting)
            except SchemaError as error:
                wrong.append(f"column {on!r}: {error}")
        if wrong:
            raise ValueError("; ".join(wrong))
        return settings

    @field_validator("person", mode="plain")
    @classmethod
    def _is_a_column_or_false(cls, person: object) -> Any:
        if person is None or person is False or (isinstance(person, str) and person):
            return person
        raise ValueError("must be the name of a column, or false to count rows")

    @property
    def needs_earlier(self) -> bool:
        """Whether earlier releases decide who is released, or with whom."""
        return self.composition in ("follow", "only-new")

    def requirements(self) -> tuple[Requirement, ...]:
        """Convert the table into requirements."""
        sizes: tuple[Requirement, ...] = ()
        if self.k is not None:
            shares = (PersonShare(self.k, self.person),) if self.limit_share else ()
            sizes = (KAnonymity(self.k, self.person), *shares)
        return sizes + tuple(
            requirement
            for model in SENSITIVE_MODELS
            for on, setting in getattr(self, model).items()
            for requirement in _parsed(model, on, setting)
        )


if not TYPE_CHECKING:
    # Adds a table of settings for each model, so that the models are listed in one place only.
    _tables = dict.fromkeys(SENSITIVE_MODELS, (dict[str, Any], {}))
    Require = create_model("Require", __base__=Require, __doc__=Require.__doc__, **_tables)


def _parsed(model: str, on: str, setting: object) -> list[SensitiveRequirement]:
    several = setting if isinstance(setting, list | tuple) else [setting]
    return [SENSITIVE_MODELS[model].parse(on, part) for part in several]


_OF_ROWS = ("drop_rows", "keep_rows")


class TableFormat(_Model):
    """The `[table]` table of a schema file; covey detects what it does not set."""

    delimiter: str | None = Field(default=None, min_length=1, max_length=2)  # "," or ", "
    encoding: str | None = None
    decimal: Literal[".", ","] | None = None
    thousands: Literal["", ",", ".", " ", "'"] | None = None
    skip: int | None = Field(default=None, ge=0)  # lines before the header
    missing: tuple[str, ...] | None = None
    header: bool | None = Field(default=None, strict=True)  # whether the first line is one
    names: tuple[str, ...] | None = Field(default=None, min_length=1)  # for a file without a header
    drop_rows: tuple[RowKind, ...] | None = None  # rows that are no people, to be left out
    keep_rows: tuple[RowKind, ...] | None = None  # such rows that are people after all

    @model_validator(mode="after")
    def _settings_fit_together(self) -> Self:
        if twice := {*(self.drop_rows or ())} & {*(self.keep_rows or ())}:
            raise ValueError(f"drop_rows and keep_rows both list {min(twice)!r}: choose one")
        if self.names is not None and self.header is not False:
            raise ValueError("names are only for a file without a header: add header = false")
        if self.thousands and self.thousands == (self.decimal or "."):
            raise ValueError("the thousands sign must differ from the decimal sign")
        return self

    def of_release(self) -> Self:
        """The format of a release: no lines before its header, and spaces are part of a cell."""
        sign = self.delimiter and self.delimiter[0]
        no_lines = {"skip": 0, "delimiter": sign, **dict.fromkeys(_OF_ROWS)}
        return self.model_copy(update=no_lines)

    def declaring(self, more: "TableFormat") -> "TableFormat":
        """The same format, but for what `more` sets; what it says of rows replaces all of that."""
        declared = more.model_dump(exclude_none=True)
        if not declared.keys().isdisjoint(_OF_ROWS):
            declared = dict.fromkeys(_OF_ROWS) | declared
        return self.model_copy(update=declared)

    @property
    def is_spaced(self) -> bool:
        """Whether spaces after the delimiter are no part of a cell."""
        return self.delimiter is not None and len(self.delimiter) == 2

    @field_validator("delimiter")
    @classmethod
    def _is_one_sign(cls, delimiter: str | None) -> str | None:
        if delimiter is not None and len(delimiter) == 2 and not delimiter.endswith(" "):
            raise ValueError('must be a single character, such as ";", or one and a space: ", "')
        return delimiter


@dataclass(frozen=True, eq=False)
class SchemaFile:
    """The file that a schema was read from, and the columns it had."""

    name: str
    sha256: str
    columns: dict[str, Column]

    def __eq__(self, _: object) -> bool:
        return True  # schemas with the same content are equal, whatever their files

    __hash__ = None  # type: ignore[assignment]


class Schema(_Model):
    """The columns of a table, and the requirements on its release."""

    columns: dict[str, Column]
    require: Require = Require()
    table: TableFormat = TableFormat()
    loss: Measure = "height"
    uses: tuple[str, ...] = ()  # what the table is released for; `covey.schema.uses` reads them
    _file: SchemaFile | None = PrivateAttr(default=None)

    @property
    def file(self) -> SchemaFile | None:
        """The schema's file; None if the columns have been changed since."""
        unchanged = self._file is not None and self._file.columns is self.columns
        return self._file if unchanged else None

    @model_validator(mode="after")
    def _requirements_fit_the_columns(self) -> Self:
        # A schema may set person without k; then the command line or `require` gives k.
        required = (KAnonymity(2, self.require.person), *self.require.requirements())
        wrong = list(
            dict.fromkeys(m for requirement in required for m in requirement.misfits(self))
        )
        wrong += mistakes(self.uses, self.names(*(role for role in Role if role not in REMOVED)))
        if wrong:
            raise ValueError("; ".join(wrong))
        return self

    @classmethod
    def of(
        cls,
        *,
        quasi: Mapping[str, str | Mapping[str, Any] | Column],
        sensitive: Sequence[str] | Mapping[str, str | Mapping[str, Any]] = (),
        identifier: Sequence[str] = (),
        insensitive: Sequence[str] = (),
        drop: Sequence[str] = (),
        **settings: Any,
    ) -> Self:
        """Make a schema from the names of the columns in each role.

        Give each quasi-identifier its type, `{"age": "numeric"}`, or all its settings,
        `{"zip": {"type": "categorical", "weight": 2, "taxonomy": {"build": "prefixes"}}}`. A
        sensitive column may have them too, if a requirement depends on distances between values.
        """
        if not isinstance(quasi, Mapping):
            raise SchemaError('give each quasi-identifier a type, as in quasi={"age": "numeric"}')
        columns: dict[str, Any] = {name: _quasi(name, setting) for name, setting in quasi.items()}
        for role, names in (
            (Role.SENSITIVE, sensitive),
            (Role.IDENTIFIER, identifier),
            (Role.INSENSITIVE, insensitive),
            (Role.DROP, drop),
        ):
            for name in [names] if isinstance(names, str) else names:
                if name in columns:
                    raise SchemaError(f"column {name!r} has two roles")
                columns[name] = {**_settings(names, name), "role": role}
        return cls.from_dict({"columns": columns, **settings})

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Self:
        """Make a schema from the nested tables of a TOML file; report all mistakes at once."""
        try:
            return cls.model_validate(settings)
        except ValidationError as error:
            raise SchemaError("; ".join(map(_describe, error.errors()))) from None
        except TaxonomyError as error:
            raise SchemaError(str(error)) from None
        except RecursionError:
            raise SchemaError("the schema is nested too deeply") from None

    @classmethod
    def from_toml(cls, path: str | Path) -> Self:
        """Read a schema file. Paths of taxonomy files are relative to its folder."""
        try:
            data = Path(path).read_bytes()
            settings = tomllib.loads(data.decode())
        except OSError as error:
            raise SchemaError(f"the schema cannot be read: {error.strerror}") from None
        except RecursionError:
            raise SchemaError("the schema is nested too deeply") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            # The rest of the message may quote a value from a taxonomy.
            place = re.search(r"at (line \d+, column \d+|end of document)", str(error))
            raise SchemaError(
                f"the schema is not valid TOML{', ' + place[0] if place else ''}"
            ) from None
        except ValueError:
            raise SchemaError("the schema cannot be read: a number is too long") from None
        schema = cls.from_dict(settings)._with_files_in(Path(path).parent)
        digest = hashlib.sha256(data).hexdigest()
        schema._file = SchemaFile(Path(path).name, digest, schema.columns)
        return schema

    def _with_files_in(self, folder: Path) -> Self:
        moved = {
            name: column.model_copy(update={"taxonomy": folder / column.taxonomy})
            for name, column in self.columns.items()
            if isinstance(column.taxonomy, Path)
        }
        return self.model_copy(update={"columns": self.columns | moved})

    def to_toml(self, folder: str | Path | None = None) -> str:
        """The text of a schema file that describes the same schema.

        Paths of taxonomies in a schema file are relative to it: `folder` is where it will be saved.
        """
        from covey.schema import toml

        return toml.written(self, folder)

    def __repr__(self) -> str:
        from covey.schema import shown

        return shown.as_text(self)

    def _repr_html_(self) -> str:
        from covey.schema import shown

        return shown.as_html(self)

    def with_role(self, name: str, role: str | Role, **settings: Any) -> Self:
        """The same schema with another role for a column, and other settings if some are given.

        A quasi-identifier needs a type. A setting of None removes the setting.
        """
        column = self.columns.get(name)
        kept = {} if column is None else {s: getattr(column, s) for s in column.model_fields_set}
        if column is not None and role not in (column.role, Role.QUASI):
            judged = ("type", "taxonomy") if role == Role.SENSITIVE else ()
            kept = {setting: value for setting, value in kept.items() if setting in judged}
        if column is not None and role != column.role:
            kept.pop("confirmed", None)  # it was about the other role
        return self._with({**self.columns, name: {**kept, **settings, "role": role}})

    def with_settings(self, name: str, **settings: Any) -> Self:
        """The same schema with other settings for a column; its role stays."""
        if name not in self.columns:
            raise SchemaError(f"the schema has no column {name!r}")
        return self.with_role(name, self.columns[name].role, **settings)

    def without(self, *names: str) -> Self:
        """The same schema without some columns and their uses, for a table without them."""
        uses = [use for use in self.uses if {*names}.isdisjoint(Use.of(use, self.columns).names)]
        kept = {name: column for name, column in self.columns.items() if name not in names}
        return type(self).from_dict({**dict(self), "columns": kept, "uses": uses})

    @property
    def needed(self) -> dict[str, float]:
        """The share of declared uses that need each quasi-identifier, of those that any needs."""
        named = [name for use in self.uses for name in Use.of(use, self.columns).names]
        return {name: named.count(name) / len(self.uses) for name in self.quasi if name in named}

    def using(self, uses: Sequence[str]) -> Self:
        """The same schema with other declared uses."""
        return type(self).from_dict({**dict(self), "uses": uses})

    def _with(self, columns: Mapping[str, Any]) -> Self:
        """The same schema with these columns, checked again."""
        return type(self).from_dict({**dict(self), "columns": dict(columns)})

    def names(self, *roles: Role) -> list[str]:
        """The columns in any of these roles, in the order of the schema."""
        return [name for name, column in self.columns.items() if column.role in roles]

    @property
    def quasi(self) -> dict[str, Column]:
        """The quasi-identifiers."""
        return {name: self.columns[name] for name in self.names(Role.QUASI)}

    def requiring(self, **models: Any) -> Self:
        """The same schema with other requirements, model by model.

        `k` is a number, `person` the column that identifies persons, or False to count rows. With
        `limit_share`, no person has more than 1/k of the rows of a class. `l`,
        `t`, `alpha`, `beta` and `delta` map a sensitive column to its setting; if the schema has
        only one sensitive column, the setting is enough. What is None stays as it is.
        """
        if models.get("k") is not None:
            KAnonymity(models["k"], models.get("person"))  # explains a wrong k better
        given = {
            model: self._by_column(model, setting) if model in SENSITIVE_MODELS else setting
            for model, setting in models.items()
            if setting is not None
        }
        if not given:
            return self
        require = {**self.require.model_dump(exclude_unset=True), **given}
        checked = type(self).from_dict({"columns": self.columns, "require": require})
        return self.model_copy(update={"require": checked.require})

    def _by_column(self, model: str, setting: Any) -> Mapping[str, Any]:
        if isinstance(setting, Mapping):
            return setting
        sensitive = self.names(Role.SENSITIVE)
        if len(sensitive) != 1:
            raise SchemaError(
                f"{model} needs a column, since {len(sensitive) or 'no'} columns are sensitive: "
                f"write COLUMN=VALUE, in Python {model}={{column: value}}"
            )
        return {sensitive[0]: setting}

    def requirements(
        self, given: Requirement | Sequence[Requirement] | None = None, **models: Any
    ) -> tuple[Requirement, ...]:
        """The given requirements, or else those of the schema, and `models` as in `requiring`.

        The schema completes them: the person column and the distance, if a requirement has none.
        """
        schema = self.requiring(**models)
        if given is None:
            required = schema.require.requirements()
        else:
            own = Require(person=schema.require.person)
            alone = self.model_copy(update={"require": own}).requiring(**models).require
            if alone.limit_share and alone.k is None:
                raise SchemaError("limit_share needs k: pass k, or the requirement PersonShare")
            several = (given,) if isinstance(given, Requirement) else tuple(given)
            required = (*several, *alone.requirements())
        if not all(isinstance(requirement, Requirement) for requirement in required):
            raise SchemaError("a requirement must be an object such as covey.KAnonymity(10)")
        wrong = [mistake for requirement in required for mistake in requirement.misfits(schema)]
        if wrong:
            raise SchemaError("; ".join(wrong))
        return tuple(requirement.completed(schema) for requirement in required)

    def role_of(self, name: str) -> Role | None:
        """The role of a column; None if the schema does not have it."""
        return self.columns[name].role if name in self.columns else None


def _settings(names: Sequence[str] | Mapping[str, Any], name: str) -> dict[str, Any]:
    setting = names[name] if isinstance(names, Mapping) else {}
    return {"type": setting} if isinstance(setting, str) else dict(setting)


def _quasi(name: str, setting: object) -> Column | dict[str, Any]:
    match setting:
        case Column(role=Role.QUASI):
            return setting
        case str():
            return {"role": Role.QUASI, "type": setting}
        case Mapping() if setting.get("role", Role.QUASI) == Role.QUASI:
            return {**setting, "role": Role.QUASI}
        case _:
            raise SchemaError(f"column {name!r}: give a quasi-identifier a type or settings")


PLAIN_WORDS = {
    "extra_forbidden": "unknown setting",
    "missing": "is required",
    "dict_type": "must be a table with one setting for each column",
    "model_type": "must be a table of settings",
}


def _describe(error: Any) -> str:
    """Describe one mistake in a schema: where it is, but not the value written there."""
    place = [str(part) for part in error["loc"]]
    where = (
        f"column {place[1]!r}" if place[:1] == ["columns"] and len(place) > 1 else ".".join(place)
    )
    inner = place[2:3] if place[2:3] == ["recode"] else place[2:]  # not the label
    setting = ".".join(inner) if where.startswith("column ") else ""
    text = error["msg"].removeprefix("Value error, ").replace("Input should be", "must be", 1)
    message = PLAIN_WORDS.get(error["type"], text)
    if error["type"] == "extra_forbidden":
        message += nearest(place[-1], _SETTINGS)
    return ": ".join(part for part in (where, setting, message) if part)


_SETTINGS = sorted(
    {n for model in (Schema, Column, Require, TableFormat) for n in model.model_fields}
)
