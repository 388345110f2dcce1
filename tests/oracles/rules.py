"""covey's requirements, as the oracles take them."""

from collections.abc import Mapping
from fractions import Fraction

import polars as pl

from covey.schema.requirements import (
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    PersonShare,
    Requirement,
    TCloseness,
)

from .constrained import Rule

TREE = {"top": {"ab": ["a", "b"], "cd": {"c": [], "de": ["d", "e"]}}}
PARENT = {
    **{"a": "ab", "b": "ab", "ab": "top", "c": "cd", "d": "de", "e": "de"},
    **{"de": "cd", "cd": "top"},
}


def rule_of(
    frame: pl.DataFrame, requirement: Requirement, parent: Mapping[str, str] | None = None
) -> Rule:
    """One requirement on the rows of a frame, by its definition; words have this tree."""
    if isinstance(requirement, KAnonymity):
        if not requirement.person:
            return Rule("rows", Fraction(requirement.k), range(frame.height))
        return Rule("persons", Fraction(requirement.k), frame[requirement.person].to_list())
    values = frame[str(requirement.column)].to_list()
    match requirement:
        case PersonShare(k=k):
            return Rule("person share", Fraction(1, k), values)
        case LDiversity(kind="recursive", c=c, l=l):
            return Rule("recursive", Fraction(str(c)), values, l=int(l))
        case LDiversity(kind=kind, l=l):
            return Rule(kind, Fraction(str(l)), values)
        case TCloseness(t=t, distance=distance, on=on):
            usual = "equal" if frame.schema[on] == pl.String else "ordered"
            return Rule(distance or usual, Fraction(str(t)), values, parent=parent)
        case AlphaK(alpha=alpha, values=listed):
            return Rule("alpha", Fraction(str(alpha)), values, listed=listed)
        case BetaLikeness(beta=beta, enhanced=enhanced):
            return Rule("enhanced" if enhanced else "basic", Fraction(str(beta)), values)
        case DeltaDisclosure(delta=delta):
            return Rule("delta", Fraction(str(delta)), values)
