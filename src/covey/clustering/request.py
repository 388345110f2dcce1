"""The request for a release, checked before any table is read."""

import contextlib
import inspect
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from covey.clustering import Method, as_method
from covey.clustering.objectives import LOSS, Aims, Objective
from covey.clustering.progress import Progress
from covey.encoding import EncodedTable, Style
from covey.encoding.groups import Groups, Rings
from covey.errors import SchemaError, UsageError, nearest
from covey.schema import Role, Schema
from covey.schema.requirements import KAnonymity, Requirement, person_columns

PLAIN = Style()


@dataclass(frozen=True, kw_only=True)
class Requirements:
    """The requirements on a release, whatever method makes it."""

    requirements: tuple[Requirement, ...]
    class_column: str | None = None

    @cached_property
    def k(self) -> int:
        """The minimum size of a group."""
        return max(one.k for one in self._sizes)

    @property
    def besides(self) -> list[Requirement]:
        """All requirements other than k rows per group."""
        return [
            one
            for one in self.requirements
            if not (isinstance(one, KAnonymity) and one.k == self.k and not one.person)
        ]

    @property
    def size(self) -> KAnonymity:
        """The requirement on class sizes: in persons if one counts them, otherwise in rows."""
        return max(self._sizes, key=lambda one: (bool(one.person), one.k))

    @property
    def person(self) -> str | Literal[False] | None:
        """The column by which k counts persons, False for rows, None if not specified."""
        declared = [one.person for one in self._sizes if one.person is not None]
        return next(filter(None, declared), declared[0] if declared else None)

    @property
    def persons(self) -> list[str]:
        """The columns by which persons are counted."""
        return person_columns(self.requirements)

    @property
    def constrained(self) -> list[str]:
        """The columns of all requirements other than k rows per group."""
        return sorted({one.column for one in self.requirements if one.column is not None})

    @property
    def relative(self) -> bool:
        """Whether a requirement compares classes with the distribution in the release."""
        return any(one.relative for one in self.requirements)

    @property
    def _sizes(self) -> list[KAnonymity]:
        return [one for one in self.requirements if isinstance(one, KAnonymity)]


@dataclass(frozen=True, kw_only=True)
class Request(Requirements):
    """A method with its options, and the requirements on its groups."""

    method: Method
    options: Mapping[str, Any]
    refine: bool = False
    objective: Aims | None = None  # of the covey method, or of the refinement
    style: Style = PLAIN
    keep_order: bool = False
    accepts_minimality: bool = False  # groups may change for single rows of rare values
    reserve: int = 0  # rows beyond k in each new group, for people who will leave
    follows: bool = False  # whether classes of earlier releases are kept together
    needed: Mapping[str, float] = field(default_factory=dict)  # columns, if uses are an objective

    @classmethod
    def of(
        cls,
        schema: Schema,
        require: Requirement | Sequence[Requirement] | None = None,
        method: str | Callable[..., Any] = "covey",
        options: Mapping[str, Any] | None = None,
        *,
        class_column: str | None = None,
        objective: Aims | None = None,
        **choices: Any,
    ) -> "Request":
        """Check a request as far as possible without the table.

        Guarantees that follow from the options of the method are verified like requirements.
        """
        found, options = as_method(method), dict(options or {})
        if found.name == "covey":
            objective = options.pop("objective", objective)
        if objective is not None:
            refuse_objective(
                objective, found, class_column, schema, refine=bool(choices.get("refine"))
            )
            options |= {"objective": objective} if found.name == "covey" else {}
        refuse_wrong_options(found, options)
        requirements = required(schema, require)
        if class_column is not None:
            refuse_class_column(schema, class_column)
        if not found.alike and any(column.render for column in schema.quasi.values()):
            raise UsageError(
                f"the method {found.name!r} shows intervals only: remove render from the schema"
            )
        refuse_clashes(schema, choices.get("style", PLAIN))
        follows = schema.require.composition == "follow"
        if follows and (found.name != "covey" or options.get("max_suppressed")):
            raise UsageError("follow needs the method covey, without max_suppressed")
        kept = found.keeps(options, schema.names(Role.SENSITIVE)) if found.keeps else ()
        return cls(
            requirements=(*requirements, *(one for one in kept if one not in requirements)),
            class_column=class_column,
            method=found,
            options=options,
            objective=objective,
            accepts_minimality=schema.require.minimality == "accept",
            reserve=schema.require.reserve,
            follows=follows,
            needed=schema.needed if Objective.of(objective or "loss").uses else {},
            **choices,
        )

    @property
    def aim(self) -> Objective:
        """What a refinement is for."""
        return LOSS if self.objective is None else Objective.of(self.objective)

    @property
    def wants_best(self) -> bool:
        """Whether the covey method is to take the time for the best groups that it finds."""
        effort, budget = self.options.get("effort"), self.options.get("budget")
        return effort == "best" or (effort is None and budget is not None)

    @property
    def seeded(self) -> list[Any]:
        """All that the seed depends on, other than the table and the key."""
        besides = [(one.name, asdict(one)) for one in self.besides]
        refined: list[Any] = ["refined"] if self.refine else []
        if self.refine and self.objective is not None:
            refined.append(self.objective)
        options = dict(sorted(self.options.items()))
        if self.needed:
            options["needed"] = self.needed
        if self.reserve:
            options["reserve"] = self.reserve
        return [self.method.name, options, self.k, self.class_column, *besides, *refined]

    @property
    def published(self) -> dict[str, Any]:
        """The options for a report; of a user's method, only numbers, which hold no cell values."""
        aim: dict[str, Any] = {} if self.objective is None else {"objective": self.objective}
        if self.reserve:
            aim["reserve"] = self.reserve
        if self.method.is_own:
            return {**self.options, **aim}
        plain = bool | int | float | None
        shown = {n: value if isinstance(value, plain) else "…" for n, value in self.options.items()}
        return {**shown, **aim}

    def cluster(self, table: EncodedTable, seed: int, progress: Progress) -> Groups | Rings:
        """Form groups with the method, which sees the table without gaps."""
        filled, k, options = table.without_gaps, self.k, {**self.options}
        if self.reserve and self.method.name == "covey":
            options["reserve"] = self.reserve
        elif self.reserve:
            k = max(k, min(k + self.reserve, table.rows))
        return self.method(filled, k, seed=seed, progress=progress, **options)

    def seen(self, schema: Schema) -> list[str]:
        """The sensitive columns to encode: those that the method must see, and those with a type.

        Other methods may look at all of them. A cell that is not of its type is refused.
        """
        every = schema.names(Role.SENSITIVE)
        if self.method.name != "covey":
            return every
        columns = schema.columns
        return [
            name
            for name in every
            if name in self.constrained
            or columns[name].is_ordered
            or columns[name].taxonomy is not None
        ]

    def allowed(self, rows: int) -> int:
        """The number of rows that may be suppressed; the method refuses an invalid share."""
        share = self.options.get("max_suppressed", 0.0)
        return int(share * rows + 1e-9) if 0 <= share < 1 else 0

    @property
    def suppresses(self) -> bool:
        """Whether the method may suppress rows."""
        return bool(self.options.get("max_suppressed"))

    @property
    def releases_all(self) -> bool:
        """Whether the method surely puts every row into a group."""
        return self.method.is_own and not self.suppresses and not self.follows

    def suppressing(self, share: float) -> "Request":
        """The same request, with this share of rows that may be suppressed."""
        return replace(self, options={**self.options, "max_suppressed": share})


def required(
    schema: Schema, require: Requirement | Sequence[Requirement] | None = None
) -> tuple[Requirement, ...]:
    """The requirements, which must include k."""
    if not isinstance(schema, Schema):
        raise SchemaError("make the schema with covey.Schema.from_toml or covey.Schema.of")
    requirements = schema.requirements(require)
    if not any(isinstance(one, KAnonymity) for one in requirements):
        raise SchemaError("no k given: pass k, or set k under [require] in the schema")
    return requirements


def refuse_class_column(schema: Schema, name: str) -> None:
    """Refuse a class column that is not released as it is."""
    role = schema.columns[name].role if name in schema.columns else None
    if role not in (Role.SENSITIVE, Role.INSENSITIVE):
        raise SchemaError(f"the class column {name!r} must be a sensitive or insensitive column")


def refuse_objective(
    objective: Aims, method: Method, class_column: str | None, schema: Schema, *, refine: bool
) -> None:
    """Refuse an objective that nothing would look at."""
    aim = Objective.of(objective)
    if method.name != "covey" and not refine:
        raise UsageError("objective is for the method covey, or for refine")
    if aim.classification and class_column is None:
        raise UsageError("the objective 'classification' needs a class column")
    if aim.uses and not schema.needed:
        raise UsageError(
            "the objective 'uses' needs a declared use of a quasi-identifier: add uses to the "
            'schema, as uses = ["mean of income by sex"]'
        )


def refuse_clashes(schema: Schema, style: Style) -> None:
    """Refuse columns of low and high ends that would have the name of another column."""
    if style.intervals != "columns":
        return
    ends = [f"{name}{end}" for name, column in schema.quasi.items() if column.is_ordered
            for end in ("_low", "_high")]  # fmt: skip
    clash = next((name for name in ends if name in schema.columns), None)
    if clash is not None:
        raise SchemaError(
            f"column {clash!r} has the name of a low or high end in the release: rename it, or "
            "omit --low-high"
        )


# What `anonymize` takes beside the options of a method.
KEYWORDS = (
    "source", "schema", "to", "engine", "quasi", "sensitive", "identifier", "insensitive", "drop",
    "rest", "k", "l", "t", "person", "limit_share", "drop_rows", "keep_rows", "require", "method",
    "minimality", "effort", "budget", "objective", "max_suppressed", "key", "seed", "class_column",
    "refine", "style", "keep_order", "report", "costs", "certificate", "description", "curve",
    "about", "defuse", "register", "refuse_composition", "follow", "only_new", "shrunk", "reserve",
    "price", "utility", "replace", "after", "part_rows", "resume", "progress",
)  # fmt: skip


# ── options ─────────────────────────────────────────────────────────────────────────────────────


def options_among(
    method: str | Callable[..., Any] | Method, choices: Mapping[str, Any]
) -> dict[str, Any]:
    """What a method takes as an option of its own and keeps: the l of cb, and its column.

    Nothing else that is asked for becomes an option, or nobody would verify it. A mapping names a
    column, so it is a requirement.
    """
    found = as_method(method)
    if found.keeps is None:
        return {}
    own = inspect.signature(found.function).parameters.keys() & {"l", "sensitive"}
    chosen = {name: choices[name] for name in own & choices.keys()}
    return {name: value for name, value in chosen.items() if not isinstance(value, Mapping)}


# Some keywords are options of methods, too.
_NO_OPTIONS = {*KEYWORDS} - {"effort", "budget", "objective", "max_suppressed", "l", "sensitive"}


def parse_options(written: Iterable[str]) -> dict[str, Any]:
    """Parse method options `NAME=VALUE`; a value that is not TOML is text."""
    parsed: dict[str, Any] = {}
    for option in written:
        name, equals, value = option.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError("write a method option as NAME=VALUE")
        if name in _NO_OPTIONS:
            raise UsageError(f"{name!r} is not a method option")
        try:
            parsed[name] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            parsed[name] = value
        except (RecursionError, ValueError):  # nested too deeply, or thousands of digits
            raise UsageError(f"the value of the method option {name!r} is too long") from None
    return parsed


def refuse_wrong_options(method: Method, options: Mapping[str, Any]) -> None:
    """Refuse options that the function of the method does not name, or of another type.

    Types are strict: the text "no" is not false, and true is not 1. A function with `**` accepts
    options of any name.
    """
    known = inspect.signature(method.function).parameters
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        allowed = [name for name in known if name not in ("table", "k", "seed", "progress")]
        unknown = [name for name in options if name not in allowed]
        if unknown:
            meant = nearest(unknown[0], [*allowed, *KEYWORDS])
            raise UsageError(
                f"the method has no option {unknown[0]!r}{meant}"
                f"{'' if meant else '; its options: ' + (', '.join(allowed) or 'none')}"
            )
    types: dict[str, Any] = {}
    with contextlib.suppress(TypeError, NameError):  # a user's function may have invalid hints
        types = get_type_hints(method.function)
    for name, value in options.items():
        if name in types:
            try:
                TypeAdapter(types[name]).validate_python(value, strict=True)
            except ValidationError:
                raise UsageError(
                    f"the method's option {name!r} must be {_named(types[name])}"
                ) from None


def _named(kind: Any) -> str:
    kinds = [each for each in get_args(kind) or [kind] if each is not type(None)]
    if get_origin(kind) is not Literal and len(kinds) == 1 and kinds != [kind]:
        return _named(kinds[0])  # an optional one
    if get_origin(kind) is Literal:
        return f"one of {', '.join(kinds)}"
    return _KINDS.get(kind, str(kind))


_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
