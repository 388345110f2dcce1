"""What a release must keep: parameters only, judged by `covey.verification`.

A class is the released rows that are equal in all quasi-identifiers. In the definitions, q is the
share of a sensitive value in a class and p its share in the whole released table. Missing is a
value like others. Several requirements hold together, each on its own column.

A number is meant as its digits say: 0.1 is one tenth. What has no digits is given as a fraction,
`Fraction(2, 3)` or the text "2/3". `exactly` tells which number that is, to those who form groups
and to those who judge them.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite
from numbers import Real
from operator import index
from typing import Literal, SupportsIndex, get_args

from covey.errors import SchemaError

Kind = Literal["distinct", "frequency", "entropy", "recursive"]
Distance = Literal["equal", "ordered", "hierarchical"]
Number = float | Fraction

_LARGEST_WHOLE = 10**15


@dataclass(frozen=True)
class KAnonymity:
    """Every row is equal to at least `k - 1` others in all its quasi-identifiers.

    With `person`, the column that tells whose row it is, persons are counted instead of rows:
    every class holds rows of at least `k` different persons. A row without one counts for nobody.
    False counts rows, on purpose. None leaves it to the schema; where that does not say it either,
    rows are counted, and a table whose identifiers repeat is refused.

    Samarati, Sweeney: Protecting privacy when disclosing information, 1998.
    """

    k: int
    person: str | Literal[False] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", _whole("k", self.k))
        if self.k < 2:
            raise SchemaError(f"k must be at least 2, not {self.k}: k = 1 hides nobody")
        if self.person is not None and self.person is not False:
            _check_name("person", self.person)

    @property
    def name(self) -> str:
        """What it is called where it is judged."""
        return f"k-anonymity of persons ({self.person})" if self.person else "k-anonymity"


@dataclass(frozen=True)
class LDiversity:
    """Every class has `l` well-represented values in the column `on`. Well represented is, by kind,

    - `distinct`: at least `l` different values;
    - `frequency`: no value in more than one of `l` rows, q ≤ 1/l (He et al. 2012, Definition 3);
    - `entropy`: - Σ q ln q ≥ ln l, where `l` may be a fraction;
    - `recursive`: r₁ < c (r_l + … + r_m), where r₁ ≥ … ≥ r_m count the values of the class.

    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam: ℓ-diversity, 2007. He, Chen, Chen, Dong,
    Wang, Huang: Clustering-based k-anonymity, 2012.
    """

    l: Number  # noqa: E741
    on: str
    kind: Kind = "distinct"
    c: Number | None = None

    def __post_init__(self) -> None:
        _check_name("on", self.on)
        if self.kind not in get_args(Kind):
            raise SchemaError(f"l-diversity is one of {', '.join(get_args(Kind))}")
        if self.kind == "entropy":
            object.__setattr__(self, "l", _number("l", self.l))
        else:
            object.__setattr__(self, "l", _whole("l", self.l))
        if self.l <= 1:
            wanted = "above 1" if self.kind == "entropy" else "at least 2"
            raise SchemaError(f"l must be {wanted}, not {self.l}: it would ask for nothing")
        if (self.kind == "recursive") is (self.c is None):
            raise SchemaError(
                "recursive l-diversity needs c, as in recursive:3:0.5; others have none"
            )
        if self.c is not None:
            object.__setattr__(self, "c", _above_zero("c", self.c))

    @property
    def name(self) -> str:
        """What it is called where it is judged; of recursive ones, c is asked for."""
        if self.kind == "recursive":
            return f"recursive (c, {self.l})-diversity ({self.on})"
        return f"{self.kind} l-diversity ({self.on})"


@dataclass(frozen=True)
class TCloseness:
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

    t: Number
    on: str
    distance: Distance | None = None

    def __post_init__(self) -> None:
        _check_name("on", self.on)
        object.__setattr__(self, "t", _number("t", self.t))
        if not 0 <= self.t <= 1:
            raise SchemaError("t lies between 0 and 1")
        if self.distance is not None and self.distance not in get_args(Distance):
            raise SchemaError(f"the distance of t is one of {', '.join(get_args(Distance))}")

    @property
    def name(self) -> str:
        """What it is called where it is judged."""
        return f"t-closeness ({', '.join(filter(None, (self.on, self.distance)))})"


@dataclass(frozen=True)
class AlphaK:
    """No value of the column `on`, or none of the listed `values`, has a share above `alpha`.

    In every class, q ≤ alpha. Together with k-anonymity this is (α, k)-anonymity; with all values
    and alpha = 1/l, it is l-diversity by frequency.

    Wong, Li, Fu, Wang: (α, k)-anonymity, 2006.
    """

    alpha: Number
    on: str
    values: tuple[str, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _check_name("on", self.on)
        object.__setattr__(self, "alpha", _above_zero("alpha", self.alpha))
        if self.alpha >= 1:
            raise SchemaError("alpha must be below 1: a share of 1 would ask for nothing")
        if self.values is None:
            return
        if isinstance(self.values, str) or not isinstance(self.values, Iterable):
            raise SchemaError("the values of alpha are a list of texts")
        object.__setattr__(self, "values", tuple(self.values))
        if not self.values or not all(isinstance(value, str) for value in self.values):
            raise SchemaError("the values of alpha are a list of texts, with one at least")

    @property
    def name(self) -> str:
        """What it is called where it is judged; values are counted, not named."""
        listed = "" if self.values is None else f", {len(self.values)} listed"
        return f"alpha ({self.on}{listed})"


@dataclass(frozen=True)
class BetaLikeness:
    """No value is much more likely in a class than in the table: (q - p) / p ≤ β where q > p.

    Enhanced, it is also at most -ln p, so that a frequent value cannot become certain.

    Cao, Karras: Publishing microdata with a robust privacy guarantee, 2012.
    """

    beta: Number
    on: str
    enhanced: bool = True

    def __post_init__(self) -> None:
        _check_name("on", self.on)
        object.__setattr__(self, "beta", _above_zero("beta", self.beta))
        if not isinstance(self.enhanced, bool):
            raise SchemaError("enhanced is true or false")

    @property
    def name(self) -> str:
        """What it is called where it is judged."""
        return f"{'enhanced' if self.enhanced else 'basic'} beta-likeness ({self.on})"


@dataclass(frozen=True)
class DeltaDisclosure:
    """No value is much more or less likely in a class than in the table: \\|ln(q / p)\\| < δ.

    Every value of the table must be in every class, since ln 0 is infinite.

    Brickell, Shmatikov: The cost of privacy, 2008.
    """

    delta: Number
    on: str

    def __post_init__(self) -> None:
        _check_name("on", self.on)
        object.__setattr__(self, "delta", _above_zero("delta", self.delta))

    @property
    def name(self) -> str:
        """What it is called where it is judged."""
        return f"delta-disclosure ({self.on})"


SensitiveRequirement = LDiversity | TCloseness | AlphaK | BetaLikeness | DeltaDisclosure
Requirement = KAnonymity | SensitiveRequirement


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


# ── one grammar for the schema file and the command line ────────────────────────────────────────


def parse(model: str, on: str, setting: object) -> SensitiveRequirement:
    """The requirement that `l`, `t`, `alpha`, `beta` or `delta` of a column asks for.

    A number, or a text with colons between its parts: `3`, `entropy:2.5`, `recursive:3:0.5`;
    `0.2`, `ordered:0.2`; `0.5`, `2/3`, `0.5:HIV:AIDS`; `1`, `basic:1`; `0.7`.
    """
    parts = setting.split(":") if isinstance(setting, str) else [setting]
    match model, parts:
        case "l", ["recursive", l, c]:
            return LDiversity(_read("l", l), on, "recursive", _read("c", c))
        case "l", [("distinct" | "frequency" | "entropy") as kind, l]:
            return LDiversity(_read("l", l), on, kind)
        case "l", [l]:
            return LDiversity(_read("l", l), on)
        case "t", [("equal" | "ordered" | "hierarchical") as distance, t]:
            return TCloseness(_read("t", t), on, distance)
        case "t", [t]:
            return TCloseness(_read("t", t), on)
        case "alpha", [alpha, *values]:
            return AlphaK(_read("alpha", alpha), on, tuple(map(str, values)) or None)
        case "beta", [("basic" | "enhanced") as kind, beta]:
            return BetaLikeness(_read("beta", beta), on, kind == "enhanced")
        case "beta", [beta]:
            return BetaLikeness(_read("beta", beta), on)
        case "delta", [delta]:
            return DeltaDisclosure(_read("delta", delta), on)
    raise SchemaError(f"{model} of a column is written like {_EXAMPLES[model]}")


_EXAMPLES = {
    "l": "3, frequency:3, entropy:2.5 or recursive:3:0.5 (l, then c)",
    "t": "0.2, equal:0.2, ordered:0.2 or hierarchical:0.2",
    "beta": "1, basic:1 or enhanced:1",
    "delta": "0.7",
}
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
