"""What a release must keep: parameters only, judged by `covey.verification`.

A class is the released rows that are equal in all quasi-identifiers. In the definitions, q is the
share of a sensitive value in a class and p its share in the whole released table. Missing is a
value like others. Several requirements hold together, each on its own column.

A number is meant as its digits say: 0.1 is one tenth. What has no digits is given as a fraction,
`Fraction(2, 3)` or the text "2/3". `exactly` tells which number that is, to those who form groups
and to those who judge them.

A privacy model is one class here: its option, its grammar, its name and what it means. Whatever
asks, stores or shows requirements takes these from the class. Besides it, a model needs its
arithmetic: a rule in `covey.encoding.constraints` that enforces it, and a check in
`covey.verification` that judges it, apart on purpose.
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
    """What every requirement says of itself."""

    option: ClassVar[str]  # in a schema's [require], on the command line and in a certificate
    alike = True  # whether rows of a release that keeps it are equal
    unbounded = ""  # why, where no figure would do

    @property
    def name(self) -> str:
        """What it is called where it is judged."""
        raise NotImplementedError

    @property
    def meaning(self) -> str:
        """What it promises, in a sentence."""
        raise NotImplementedError

    @property
    def asked(self) -> Number:
        """The figure that is compared with what is found."""
        return getattr(self, self.option)  # type: ignore[no-any-return]

    @property
    def column(self) -> str | None:
        """The column whose values are counted in each class, if any."""
        return None

    @property
    def counted(self) -> str:
        """`"rows"` or `"persons"`, where it asks how many are alike."""
        return ""

    @property
    def headline(self) -> str:
        """The first thing to say of a release that keeps it, if it asks how many are alike."""
        return ""

    def misfits(self, schema: "Schema") -> Iterator[str]:  # noqa: ARG002
        """What is asked of a column that it cannot be asked of."""
        yield from ()

    def completed(self, schema: "Schema") -> Self:  # noqa: ARG002
        """The same, with what is up to the schema where it was not asked."""
        return self

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class KAnonymity(Model):
    """Every row is equal to at least `k - 1` others in all its quasi-identifiers.

    With `person`, the column that tells whose row it is, persons are counted instead of rows:
    every class holds rows of at least `k` different persons. A row without one counts for nobody.
    False counts rows, on purpose. None leaves it to the schema; where that does not say it either,
    rows are counted, and a table whose identifiers repeat is refused.

    Samarati, Sweeney: Protecting privacy when disclosing information, 1998.
    """

    option = "k"

    k: int
    person: str | Literal[False] | None = None

    def __post_init__(self) -> None:
        self._set(k=_whole("k", self.k))
        if self.k < 2:
            raise SchemaError(f"k must be at least 2, not {self.k}: k = 1 hides nobody")
        if self.person is not None and self.person is not False:
            _check_name("person", self.person)

    @property
    def name(self) -> str:
        """What it is called where it is judged."""
        return f"k-anonymity of persons ({self.person})" if self.person else "k-anonymity"

    @property
    def meaning(self) -> str:
        """What it promises, in a sentence."""
        if self.person:
            return (
                "Every row is equal to rows of others in all quasi-identifiers: together they "
                "belong to at least this many different persons."
            )
        return (
            "Every row is equal to others in all quasi-identifiers: together they are at least "
            "this many."
        )

    @property
    def headline(self) -> str:
        """What holds of everyone."""
        if self.person:
            return f"everyone hides among at least {self.k:,} people"
        return f"every row looks like at least {count(self.k - 1, 'other row')}"

    @property
    def counted(self) -> str:
        """What is counted in a class."""
        return "persons" if self.person else "rows"

    @property
    def column(self) -> str | None:
        """The column of persons."""
        return self.person or None

    def misfits(self, schema: "Schema") -> Iterator[str]:
        """A person is told by a column that is not generalised."""
        if self.person and schema.role_of(self.person) in (None, "quasi"):
            yield f"the person column {self.person!r} must be one of the schema, and not quasi"

    def completed(self, schema: "Schema") -> Self:
        """Who is counted is up to the schema where it was not asked."""
        return self if self.person is not None else replace(self, person=schema.require.person)


class SensitiveModel(Model):
    """What the values of a sensitive column must keep in every class."""

    on: str
    written: ClassVar[str]  # examples of its grammar

    def __post_init__(self) -> None:
        _check_name("on", self.on)

    @classmethod
    def parse(cls, on: str, setting: object) -> Self:
        """What is asked of a column by a number, or by a text with colons between its parts."""
        parts = setting.split(":") if isinstance(setting, str) else [setting]
        found = cls._of_parts(on, parts)
        if found is None:
            raise SchemaError(f"{cls.option} of a column is written like {cls.written}")
        return found

    @classmethod
    def _of_parts(cls, on: str, parts: list[Any]) -> Self | None:
        """The requirement, or None if the parts do not fit; most have one number."""
        return cls(parts[0], on) if len(parts) == 1 else None  # type: ignore[call-arg]

    @property
    def _title(self) -> str:
        raise NotImplementedError

    @property
    def _details(self) -> str:
        return ""

    @property
    def name(self) -> str:
        """What it is called where it is judged, with its column."""
        return f"{self._title} ({self.on}{self._details})"

    @property
    def column(self) -> str:
        """The sensitive column."""
        return self.on

    def misfits(self, schema: "Schema") -> Iterator[str]:
        """It is asked of a sensitive column."""
        if schema.role_of(self.on) != "sensitive":
            yield f"{self.name}: {self.on!r} is not a sensitive column of the schema"


@dataclass(frozen=True)
class LDiversity(SensitiveModel):
    """Every class has `l` well-represented values in the column `on`. Well represented is, by kind,

    - `distinct`: at least `l` different values;
    - `frequency`: no value in more than one of `l` rows, q ≤ 1/l (He et al. 2012, Definition 3);
    - `entropy`: - Σ q ln q ≥ ln l, where `l` may be a fraction;
    - `recursive`: r₁ < c (r_l + … + r_m), where r₁ ≥ … ≥ r_m count the values of the class.

    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam: ℓ-diversity, 2007. He, Chen, Chen, Dong,
    Wang, Huang: Clustering-based k-anonymity, 2012.
    """

    option = "l"
    written = "3, frequency:3, entropy:2.5 or recursive:3:0.5 (l, then c)"
    unbounded = "no c would do for a class of too few values"

    l: Number  # noqa: E741
    on: str
    kind: Kind = "distinct"
    c: Number | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in get_args(Kind):
            raise SchemaError(f"l-diversity is one of {', '.join(get_args(Kind))}")
        self._set(l=(_number if self.kind == "entropy" else _whole)("l", self.l))
        if self.l <= 1:
            wanted = "above 1" if self.kind == "entropy" else "at least 2"
            raise SchemaError(f"l must be {wanted}, not {self.l}: it would ask for nothing")
        if (self.kind == "recursive") is (self.c is None):
            raise SchemaError(
                "recursive l-diversity needs c, as in recursive:3:0.5; others have none"
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
        recursive = self.kind == "recursive"  # then it is c that is asked for
        return f"recursive (c, {self.l})-diversity" if recursive else f"{self.kind} l-diversity"

    @property
    def meaning(self) -> str:
        """What it promises, in a sentence."""
        return {
            "distinct": "Every class has at least this many different values of the column.",
            "frequency": "In no class has a value more than one of this many rows.",
            "entropy": "The values of every class are as mixed as this many equally frequent ones, "
            "at least.",
            "recursive": "In no class is the most frequent value more frequent than this many "
            "times all the rarer ones together.",
        }[self.kind]

    @property
    def asked(self) -> Number:
        """Of recursive ones it is c that is compared."""
        return self.l if self.c is None else self.c


@dataclass(frozen=True)
class TCloseness(SensitiveModel):
    """The values of every class are spread like those of the table: EMD(q, p) ≤ t.

    The earth mover's distance is the least cost of turning one distribution into the other. Moving
    a share from one value to another costs, by `distance`,

    - `equal`: the share;
    - `ordered`: times the ranks between the two over those between the lowest and the highest, a
      missing value ranking last;
    - `hierarchical`: times the height of their lowest common ancestor over that of the taxonomy, a
      missing value being a leaf right under the root.

    None is `ordered` where the schema declares numbers or dates, and else `equal`.

    Li, Li, Venkatasubramanian: t-closeness, 2007.
    """

    option = "t"
    _title = "t-closeness"
    written = "0.2, equal:0.2, ordered:0.2 or hierarchical:0.2"
    meaning = (
        "The values of every class are spread like those of the whole table, up to this distance."
    )

    t: Number
    on: str
    distance: Distance | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(t=_number("t", self.t))
        if not 0 <= self.t <= 1:
            raise SchemaError("t lies between 0 and 1")
        if self.distance is not None and self.distance not in get_args(Distance):
            raise SchemaError(f"the distance of t is one of {', '.join(get_args(Distance))}")

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
        """Distances need to know how the values lie beside each other."""
        wrong = [*super().misfits(schema)]
        yield from wrong
        if wrong:
            return
        column = schema.columns[self.on]
        if self.distance == "ordered" and not column.is_ordered:
            yield f'{self.name}: declare type = "numeric" or "date" of column {self.on!r}'
        if self.distance == "hierarchical" and column.taxonomy is None:
            yield f"{self.name}: declare a taxonomy of column {self.on!r}"

    def completed(self, schema: "Schema") -> Self:
        """How far values are apart is up to the schema where it was not asked."""
        if self.distance is not None:
            return self
        return replace(self, distance="ordered" if schema.columns[self.on].is_ordered else "equal")


@dataclass(frozen=True)
class AlphaK(SensitiveModel):
    """No value of the column `on`, or none of the listed `values`, has a share above `alpha`.

    In every class, q ≤ alpha. Together with k-anonymity this is (α, k)-anonymity; with all values
    and alpha = 1/l, it is l-diversity by frequency.

    Wong, Li, Fu, Wang: (α, k)-anonymity, 2006.
    """

    option = "alpha"
    _title = "alpha"
    written = "0.5, 2/3 or 0.5:HIV:AIDS"
    meaning = "In no class does a value have a larger share of the rows."

    alpha: Number
    on: str
    values: tuple[str, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(alpha=_above_zero("alpha", self.alpha))
        if self.alpha >= 1:
            raise SchemaError("alpha must be below 1: a share of 1 would ask for nothing")
        if self.values is None:
            return
        if isinstance(self.values, str) or not isinstance(self.values, Iterable):
            raise SchemaError("the values of alpha are a list of texts")
        self._set(values=tuple(self.values))
        if not self.values or not all(isinstance(value, str) for value in self.values):
            raise SchemaError("the values of alpha are a list of texts, with one at least")

    @classmethod
    def _of_parts(cls, on: str, parts: list[Any]) -> Self:
        alpha, *values = parts
        return cls(alpha, on, tuple(values) or None)

    @property
    def _details(self) -> str:  # values are counted, not named
        return "" if self.values is None else f", {len(self.values)} listed"


@dataclass(frozen=True)
class BetaLikeness(SensitiveModel):
    """No value is much more likely in a class than in the table: (q - p) / p ≤ β where q > p.

    Enhanced, it is also at most -ln p, so that a frequent value cannot become certain.

    Cao, Karras: Publishing microdata with a robust privacy guarantee, 2012.
    """

    option = "beta"
    written = "1, basic:1 or enhanced:1"
    meaning = (
        "No value is more likely in a class than in the whole table, by this part of its share at "
        "most."
    )
    unbounded = "some value is too likely in a class for any beta"

    beta: Number
    on: str
    enhanced: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(beta=_above_zero("beta", self.beta))
        if not isinstance(self.enhanced, bool):
            raise SchemaError("enhanced is true or false")

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
    """No value is much more or less likely in a class than in the table: \\|ln(q / p)\\| < δ.

    Every value of the table must be in every class, since ln 0 is infinite.

    Brickell, Shmatikov: The cost of privacy, 2008.
    """

    option = "delta"
    _title = "delta-disclosure"
    written = "0.7"
    meaning = (
        "No value is much more or much less likely in a class than in the table: the logarithm of "
        "the ratio stays below."
    )
    unbounded = "some class lacks a value, and then no delta would do"

    delta: Number
    on: str

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(delta=_above_zero("delta", self.delta))


SensitiveRequirement = LDiversity | TCloseness | AlphaK | BetaLikeness | DeltaDisclosure
Requirement = KAnonymity | SensitiveRequirement

# Each model by its option: all of them, and those that are asked of a sensitive column.
MODELS: dict[str, type[Requirement]] = {one.option: one for one in get_args(Requirement)}
SENSITIVE_MODELS: dict[str, type[SensitiveRequirement]] = {
    one.option: one for one in get_args(SensitiveRequirement)
}


# ── what is judged and cannot be asked ──────────────────────────────────────────────────────────


@dataclass(frozen=True)
class DisjointMatchings(Model):
    """What a method keeps whose rows are not alike: `k` pairings of people with released rows."""

    option = "k"
    name = "disjoint perfect matchings"
    meaning = (
        "Everyone may be behind at least this many released rows. Rows are not alike, so this is "
        "not k-anonymity."
    )
    counted = "rows"
    alike = False

    k: int

    @property
    def headline(self) -> str:
        """What holds of everyone."""
        return f"everyone may be behind {self.k:,} released rows. This is not k-anonymity"


@dataclass(frozen=True)
class NoIdentifiers(Model):
    """What every release keeps."""

    name = "no identifiers"
    meaning = "No column that names people is in the release."
    asked = 0


# ── numbers ─────────────────────────────────────────────────────────────────────────────────────


def exactly(asked: Number) -> Fraction:
    """The number that was asked for: of a float, the one that its digits say."""
    return asked if isinstance(asked, Fraction) else Fraction(repr(float(asked)))


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
    except OverflowError:  # a whole number, or a fraction, beyond all floats
        return False


def _above_zero(name: str, value: object) -> Number:
    number = _number(name, value)
    if number <= 0:
        raise SchemaError(f"{name} must be above 0")
    return number


def _check_name(what: str, value: object) -> None:
    if not isinstance(value, str) or not value:
        raise SchemaError(f"{what} is the name of a column")


_WHOLE = re.compile(r"[0-9]{1,15}")
_DECIMAL = re.compile(r"[0-9]*\.?[0-9]+([eE][+-]?[0-9]{1,3})?")
_FRACTION = re.compile(r"([0-9]{1,15})/(0*[1-9][0-9]{0,14})")


def _read(name: str, part: object) -> Number:
    """A number as TOML gives it, or the digits of one; the requirement checks its range."""
    if not isinstance(part, str):
        return part  # type: ignore[return-value]  # refused by the requirement if it is no number
    if _WHOLE.fullmatch(part):
        return int(part)
    if _DECIMAL.fullmatch(part):
        return float(part)
    if parts := _FRACTION.fullmatch(part):
        return Fraction(int(parts[1]), int(parts[2]))
    raise SchemaError(f"{name} must be a number, or a fraction such as 2/3")
