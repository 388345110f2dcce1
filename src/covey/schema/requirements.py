"""Requirements on a release: parameters only. `covey.verification` checks them.

A class is a set of released rows that are equal in all quasi-identifiers. In the definitions, q is
the share of a sensitive value in a class, and p its share in the whole released table. Missing is
a value like any other. Several requirements must all hold, each on its own column.

A number means exactly what its digits say: 0.1 is one tenth. For a number without finite digits,
give a fraction: `Fraction(2, 3)` or the text "2/3". `exactly` returns this exact number, both for
forming groups and for checking them.

Each privacy model is one class here, with its option, grammar, name and meaning. All code that
asks for, stores or shows requirements reads them from the class. The arithmetic is elsewhere, and
separate on purpose: a rule in `covey.encoding.constraints` enforces the model, and a check in
`covey.verification` judges it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import isfinite
from numbers import Real
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, SupportsIndex, get_args

from covey.errors import SchemaError, count

if TYPE_CHECKING:
    from covey.schema.columns import Schema

Kind = Literal["distinct", "frequency", "entropy", "recursive"]
Distance = Literal["equal", "ordered", "hierarchical"]
Number = float | Fraction

_LARGEST_WHOLE = 10**15


class Model:
    """What every requirement describes about itself."""

    option: ClassVar[str]  # its key in [require], on the command line and in a certificate
    alike = True  # whether a release that meets it has classes of equal rows
    relative = False  # whether a class is compared with the distribution in the whole table
    unbounded = ""  # the reason, if no number would hold

    @property
    def name(self) -> str:
        """Its name in results."""
        raise NotImplementedError

    @property
    def meaning(self) -> str:
        """What it guarantees, in one sentence."""
        raise NotImplementedError

    @property
    def required(self) -> Number:
        """The required number, to compare with the number found."""
        return getattr(self, self.option)  # type: ignore[no-any-return]

    @property
    def column(self) -> str | None:
        """The column whose values are counted in each class, if any."""
        return None

    @property
    def counted(self) -> str:
        """What it counts in a class: `"rows"` or `"persons"`; empty if it counts neither."""
        return ""

    @property
    def promise(self) -> str:
        """What a release that meets it promises to each, if it counts rows or persons."""
        return ""

    def misfits(self, schema: "Schema") -> Iterator[str]:  # noqa: ARG002
        """Find mistakes: columns that the requirement cannot apply to."""
        yield from ()

    def completed(self, schema: "Schema") -> Self:  # noqa: ARG002
        """The same requirement, completed with settings from the schema."""
        return self

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class PersonModel(Model):
    """A requirement on the persons in every class, or on its rows."""

    k: int
    person: str | Literal[False] | None = None  # False counts rows; None is as in the schema

    def __post_init__(self) -> None:
        self._set(k=_whole("k", self.k))
        if self.k < 2:
            raise SchemaError(f"k must be at least 2, not {self.k}: k = 1 protects no one")
        if self.person is not None and self.person is not False:
            _check_name("person", self.person)

    @property
    def column(self) -> str | None:
        """The person column."""
        return self.person or None

    def misfits(self, schema: "Schema") -> Iterator[str]:
        """The person column must exist, and be neither generalised nor dropped."""
        if self.person and schema.role_of(self.person) in (None, "quasi", "drop"):
            yield (
                f"the person column {self.person!r} must be in the schema, and not as quasi or drop"
            )

    def completed(self, schema: "Schema") -> Self:
        """Take the person column from the schema if none was given."""
        return self if self.person is not None else replace(self, person=schema.require.person)


@dataclass(frozen=True)
class KAnonymity(PersonModel):
    """Every row is equal to at least `k - 1` others in all its quasi-identifiers.

    With `person`, the column that identifies the person of each row, covey counts persons instead
    of rows: every class has rows of at least `k` different persons. A row without a person does
    not count. False counts rows explicitly. None uses the setting of the schema; if the schema has
    none, covey counts rows, and refuses a table whose identifiers repeat.

    Samarati, Sweeney: Protecting privacy when disclosing information, 1998.
    """

    option = "k"

    @property
    def name(self) -> str:
        """Its name in results."""
        return f"k-anonymity of persons ({self.person})" if self.person else "k-anonymity"

    @property
    def meaning(self) -> str:
        """What it guarantees, in one sentence."""
        if self.person:
            return (
                "Each row belongs to a class of rows with equal quasi-identifiers. Every class has "
                "rows of at least this many different persons."
            )
        return (
            "Each row belongs to a class of rows with equal quasi-identifiers. Every class has at "
            "least this many rows."
        )

    @property
    def promise(self) -> str:
        """What it means for each person."""
        if self.person:
            return f"everyone hides among at least {self.k:,} people"
        return f"every row looks like at least {count(self.k - 1, 'other row')}"

    @property
    def counted(self) -> str:
        """What it counts in a class."""
        return "persons" if self.person else "rows"


@dataclass(frozen=True)
class PersonShare(PersonModel):
    """No person has more than 1/k of the rows of a class: (α, k)-anonymity of the person column.

    k people in a class do not protect the one who has most of its rows: whoever knows a person
    picks one of their rows with the chance of their share. A row without a person might be
    anyone's, so covey refuses to make a release of such rows, and judges them as the worst case.

    Wong, Li, Fu, Wang: (α, k)-anonymity, 2006.
    """

    option = "limit_share"
    meaning = "In every class, no person has more than this share of the rows."

    @property
    def name(self) -> str:
        """Its name in results."""
        return f"share of a person ({self.person})"

    @property
    def required(self) -> Fraction:
        """The largest share."""
        return Fraction(1, self.k)

    @property
    def promise(self) -> str:
        """What it means for each person."""
        return f"nobody has more than 1/{self.k} of the rows of a class"

    def misfits(self, schema: "Schema") -> Iterator[str]:
        """There must be a person column."""
        completed = self.completed(schema)
        if not completed.person:
            yield "limit_share limits the rows of a person: name the column of people in person"
        yield from super(PersonShare, completed).misfits(schema)


def person_columns(requirements: Iterable["Requirement"]) -> list[str]:
    """The columns by which persons are counted, each once."""
    counting = (found for found in requirements if isinstance(found, PersonModel))
    return list(dict.fromkeys(found.person for found in counting if found.person))


class SensitiveModel(Model):
    """A requirement on the values of a sensitive column in every class."""

    on: str
    written: ClassVar[str]  # examples of its settings

    def __post_init__(self) -> None:
        _check_name("on", self.on)
        self._check()

    def _check(self) -> None:
        """Check the parameters; most models take one number above zero."""
        self._set(**{self.option: _above_zero(self.option, self.required)})

    @classmethod
    def parse(cls, on: str, setting: object) -> Self:
        """Read a requirement on a column: a number, or a text with parts between colons."""
        parts = setting.split(":") if isinstance(setting, str) else [setting]
        found = cls._of_parts(on, parts)
        if found is None:
            raise SchemaError(f"write {cls.option} of a column like {cls.written}")
        return found

    @classmethod
    def _of_parts(cls, on: str, parts: list[Any]) -> Self | None:
        """The requirement, or None if the parts do not fit; most models take one number."""
        return cls(parts[0], on) if len(parts) == 1 else None  # type: ignore[call-arg]

    @property
    def _title(self) -> str:
        raise NotImplementedError

    @property
    def _details(self) -> str:
        return ""

    @property
    def name(self) -> str:
        """Its name in results, with its column."""
        return f"{self._title} ({self.on}{self._details})"

    @property
    def column(self) -> str:
        """The sensitive column."""
        return self.on

    def misfits(self, schema: "Schema") -> Iterator[str]:
        """The column must be sensitive."""
        if schema.role_of(self.on) != "sensitive":
            yield f"{self.name}: {self.on!r} is not a sensitive column of the schema"


@dataclass(frozen=True)
class LDiversity(SensitiveModel):
    """Every class has `l` well-represented values in the column `on`.

    The kind says what well represented means:

    - `distinct`: at least `l` different values;
    - `frequency`: no value in more than 1/l of the rows, q ≤ 1/l (He et al. 2012, Definition 3);
    - `entropy`: - Σ q ln q ≥ ln l, where `l` may be a fraction;
    - `recursive`: r₁ < c (r_l + … + r_m), where r₁ ≥ … ≥ r_m are the counts of the values.

    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam: ℓ-diversity, 2007. He, Chen, Chen, Dong,
    Wang, Huang: Clustering-based k-anonymity, 2012.
    """

    option = "l"
    written = "3, frequency:3, entropy:2.5 or recursive:3:0.5 (l, then c)"
    unbounded = "a class has too few values, so no c holds"

    l: Number  # noqa: E741
    on: str
    kind: Kind = "distinct"
    c: Number | None = None

    def _check(self) -> None:
        if self.kind not in get_args(Kind):
            raise SchemaError(f"the kind of l-diversity must be one of {', '.join(get_args(Kind))}")
        self._set(l=(_number if self.kind == "entropy" else _whole)("l", self.l))
        if self.l <= 1:
            least = "above 1" if self.kind == "entropy" else "at least 2"
            raise SchemaError(f"l must be {least}, not {self.l}, which every class meets")
        if (self.kind == "recursive") is (self.c is None):
            raise SchemaError(
                "recursive l-diversity needs c, as in recursive:3:0.5; other kinds take no c"
            )
        if self.c is not None:
            self._set(c=_above_zero("c", self.c))

    @classmethod
    def _of_parts(cls, on: str, parts: list[Any]) -> Self | None:
        match parts:
            case ["recursive", l, c]:
                return cls(_read("l", l), on, "recursive", c)
            case [("distinct" | "frequency" | "entropy") as kind, l]:
                return cls(_read("l", l), on, kind)
            case [l]:
                return cls(_read("l", l), on)
        return None

    @property
    def _title(self) -> str:
        recursive = self.kind == "recursive"  # then c is the required number
        return f"recursive (c, {self.l})-diversity" if recursive else f"{self.kind} l-diversity"

    @property
    def meaning(self) -> str:
        """What it guarantees, in one sentence."""
        return {
            "distinct": "Every class has at least this many different values of the column.",
            "frequency": "In every class, at most one in this many rows has the same value.",
            "entropy": "The values of every class are at least as diverse as this many equally "
            "frequent values.",
            "recursive": "In every class, the most frequent value has fewer rows than this many "
            "times the rarer values together.",
        }[self.kind]

    @property
    def required(self) -> Number:
        """The required l, or c for recursive l-diversity."""
        return self.l if self.c is None else self.c


@dataclass(frozen=True)
class TCloseness(SensitiveModel):
    """The values of every class have nearly the distribution of the whole table: EMD(q, p) ≤ t.

    The earth mover's distance is the least cost of turning one distribution into the other. Moving
    a share from one value to another costs, by `distance`,

    - `equal`: the share;
    - `ordered`: the share times the difference of their ranks, divided by that of the lowest and
      the highest value; a missing value ranks last;
    - `hierarchical`: the share times the height of their lowest common ancestor, divided by the
      height of the taxonomy; a missing value is a leaf directly under the root.

    None means `ordered` if the schema declares numbers or dates, and `equal` otherwise.

    Li, Li, Venkatasubramanian: t-closeness, 2007.
    """

    relative = True
    option = "t"
    _title = "t-closeness"
    written = "0.2, equal:0.2, ordered:0.2 or hierarchical:0.2"
    meaning = (
        "The distribution of the values in every class is within this distance of the distribution "
        "in the whole table."
    )

    t: Number
    on: str
    distance: Distance | None = None

    def _check(self) -> None:
        self._set(t=_number("t", self.t))
        if not 0 <= self.t <= 1:
            raise SchemaError("t must be between 0 and 1")
        if self.distance is not None and self.distance not in get_args(Distance):
            raise SchemaError(f"the distance of t must be one of {', '.join(get_args(Distance))}")

    @classmethod
    def _of_parts(cls, on: str, parts: list[Any]) -> Self | None:
        match parts:
            case [("equal" | "ordered" | "hierarchical") as distance, t]:
                return cls(t, on, distance)
        return super()._of_parts(on, parts)

    @property
    def _details(self) -> str:
        return f", {self.distance}" if self.distance else ""

    def misfits(self, schema: "Schema") -> Iterator[str]:
        """The schema must declare what the distance needs: an order or a taxonomy."""
        wrong = [*super().misfits(schema)]
        yield from wrong
        if wrong:
            return
        column = schema.columns[self.on]
        if self.distance == "ordered" and not column.is_ordered:
            yield f'{self.name}: declare type = "numeric" or "date" for column {self.on!r}'
        if self.distance == "hierarchical" and column.taxonomy is None:
            yield f"{self.name}: declare a taxonomy for column {self.on!r}"

    def completed(self, schema: "Schema") -> Self:
        """Choose the distance by the type in the schema if none was given."""
        if self.distance is not None:
            return self
        return replace(self, distance="ordered" if schema.columns[self.on].is_ordered else "equal")


@dataclass(frozen=True)
class AlphaK(SensitiveModel):
    """In every class, no value of the column `on` has a share above `alpha`: q ≤ alpha.

    With `values`, this applies to the listed values only. Together with k-anonymity it is
    (α, k)-anonymity; with all values and alpha = 1/l, it is l-diversity by frequency.

    Wong, Li, Fu, Wang: (α, k)-anonymity, 2006.
    """

    option = "alpha"
    _title = "alpha"
    written = "0.5, 2/3 or 0.5:HIV:AIDS"
    meaning = (
        "In every class, each value (or each listed value) has at most this share of the rows."
    )

    alpha: Number
    on: str
    values: tuple[str, ...] | None = field(default=None, repr=False)

    def _check(self) -> None:
        super()._check()
        if self.alpha >= 1:
            raise SchemaError("alpha must be below 1: every class meets alpha = 1")
        if self.values is None:
            return
        if isinstance(self.values, str) or not isinstance(self.values, Iterable):
            raise SchemaError("the values of alpha must be a list of texts")
        self._set(values=tuple(self.values))
        if not self.values or not all(isinstance(value, str) for value in self.values):
            raise SchemaError("the values of alpha must be a list of at least one text")

    @classmethod
    def _of_parts(cls, on: str, parts: list[Any]) -> Self:
        alpha, *values = parts
        return cls(alpha, on, tuple(values) or None)

    @property
    def _details(self) -> str:  # counts the values; cell values do not appear in names
        return "" if self.values is None else f", {len(self.values)} listed"


@dataclass(frozen=True)
class BetaLikeness(SensitiveModel):
    """No value is much more frequent in a class than in the table: (q - p) / p ≤ β if q > p.

    The enhanced kind also limits it to -ln p, so that a frequent value cannot become certain.

    Cao, Karras: Publishing microdata with a robust privacy guarantee, 2012.
    """

    relative = True
    option = "beta"
    written = "1, basic:1 or enhanced:1"
    meaning = (
        "In every class, the share of each value is at most its share in the whole table, plus "
        "this many times that share."
    )
    unbounded = "a value is too frequent in a class, so no beta holds"

    beta: Number
    on: str
    enhanced: bool = True

    def _check(self) -> None:
        super()._check()
        if not isinstance(self.enhanced, bool):
            raise SchemaError("enhanced must be true or false")

    @classmethod
    def _of_parts(cls, on: str, parts: list[Any]) -> Self | None:
        match parts:
            case [("basic" | "enhanced") as kind, beta]:
                return cls(beta, on, kind == "enhanced")
        return super()._of_parts(on, parts)

    @property
    def _title(self) -> str:
        return f"{'enhanced' if self.enhanced else 'basic'} beta-likeness"


@dataclass(frozen=True)
class DeltaDisclosure(SensitiveModel):
    """No value is much more or less frequent in a class than in the table: \\|ln(q / p)\\| < δ.

    Every class must contain every value of the table, since ln 0 is infinite.

    Brickell, Shmatikov: The cost of privacy, 2008.
    """

    relative = True
    option = "delta"
    _title = "delta-disclosure"
    written = "0.7"
    meaning = (
        "No value is much more or much less frequent in a class than in the whole table: the "
        "logarithm of the ratio of its two shares is below this number, up or down."
    )
    unbounded = "a class lacks a value, so no delta holds"

    delta: Number
    on: str


SensitiveRequirement = LDiversity | TCloseness | AlphaK | BetaLikeness | DeltaDisclosure
Requirement = KAnonymity | PersonShare | SensitiveRequirement

# All models by option, and those that apply to a sensitive column.
MODELS: dict[str, type[Requirement]] = {model.option: model for model in get_args(Requirement)}
SENSITIVE_MODELS: dict[str, type[SensitiveRequirement]] = {
    model.option: model for model in get_args(SensitiveRequirement)
}


@dataclass(frozen=True)
class DisjointMatchings(Model):
    """The guarantee of a method without classes: `k` pairings of people with released rows."""

    option = "k"
    name = "disjoint perfect matchings"
    meaning = (
        "Each person matches at least this many released rows. Rows are not equal, so this is not "
        "k-anonymity."
    )
    counted = "rows"
    alike = False

    k: int

    @property
    def promise(self) -> str:
        """What it means for each person."""
        return f"everyone matches at least {self.k:,} released rows, which is not k-anonymity"


@dataclass(frozen=True)
class NoIdentifiers(Model):
    """The check of every release: it has no identifiers."""

    name = "no identifiers"
    meaning = "The release has no column with the role identifier or drop."
    required = 0


# ── numbers ─────────────────────────────────────────────────────────────────────────────────────


def exactly(required: Number) -> Fraction:
    """The required number as a fraction: a float means what its digits say."""
    return required if isinstance(required, Fraction) else Fraction(repr(float(required)))


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise SchemaError(f"{name} must be a whole number")
    whole = index(value)
    if abs(whole) > _LARGEST_WHOLE:
        raise SchemaError(f"{name} must be a whole number of at most 15 digits")
    return whole


def _number(name: str, value: object) -> Number:
    value = _read(name, value)
    if isinstance(value, bool) or not isinstance(value, Real) or not _is_finite(value):
        raise SchemaError(f"{name} must be a number, or a fraction such as 2/3")
    return value if isinstance(value, Fraction) else float(value)


def _is_finite(value: Real) -> bool:
    try:
        return isfinite(value)
    except OverflowError:  # a whole number or fraction too large for a float
        return False


def _above_zero(name: str, value: object) -> Number:
    number = _number(name, value)
    if number <= 0:
        raise SchemaError(f"{name} must be above 0")
    return number


def _check_name(what: str, value: object) -> None:
    if not isinstance(value, str) or not value:
        raise SchemaError(f"{what} must be the name of a column")


_WHOLE = re.compile(r"[0-9]{1,15}")
_DECIMAL = re.compile(r"[0-9]*\.?[0-9]+([eE][+-]?[0-9]{1,3})?")
_FRACTION = re.compile(r"([0-9]{1,15})/(0*[1-9][0-9]{0,14})")


def _read(name: str, part: object) -> Number:
    """Read a number from TOML or from text; the requirement checks its range."""
    if not isinstance(part, str):
        return part  # type: ignore[return-value]  # the requirement refuses it if it is not a number
    if _WHOLE.fullmatch(part):
        return int(part)
    if _DECIMAL.fullmatch(part):
        return float(part)
    if parts := _FRACTION.fullmatch(part):
        return Fraction(int(parts[1]), int(parts[2]))
    raise SchemaError(f"{name} must be a number, or a fraction such as 2/3")
