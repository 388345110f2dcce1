"""Judge each requirement by the figures of all classes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from covey.errors import SchemaError, count
from covey.schema.requirements import (
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    PersonShare,
    Requirement,
    SensitiveRequirement,
    TCloseness,
    exactly,
    person_columns,
)
from covey.verification.class_counts import TOLERANCE
from covey.verification.judged import Figures, Judged, Shares
from covey.verification.rounding import chance
from covey.verification.sensitive import Achieved, SensitiveColumn, rounded
from covey.verification.verdict import Check, Risks


def check(
    requirement: Requirement, judged: Judged, columns: Mapping[str, SensitiveColumn]
) -> Check:
    """Check one requirement."""
    if isinstance(requirement, KAnonymity):
        return _check_size(requirement, judged)
    if isinstance(requirement, PersonShare):
        return _check_person_share(requirement, judged)
    if requirement.on not in columns:
        raise SchemaError(f"sensitive column {requirement.on!r} is not in the table")
    return _check(requirement, columns[requirement.on], judged.figures[requirement.on])


def _check_size(requirement: KAnonymity, judged: Judged) -> Check:
    """Check the class sizes in rows, or in persons if their column is known.

    Without that column, rows are checked instead: no class has more persons than rows, so too few
    rows are too few persons.
    """
    rows = judged.smallest
    found: int | None = rows
    reason = ""
    if requirement.person in judged.shares:
        found = judged.shares[str(requirement.person)].fewest
    elif requirement.person and rows >= requirement.k:
        found = None
        reason = (
            f"the column {requirement.person!r} is not in the table. Rows were counted instead of "
            f"persons: every class has at least {rows:,} rows. If covey made this release, it "
            "counted the persons before writing it"
        )
    holds = found is not None and found >= requirement.k
    return Check(requirement, found, holds, reason, judged=found is not None)


def _check_person_share(requirement: PersonShare, judged: Judged) -> Check:
    """Check the largest share that one person has of the rows of a class.

    Without the person column, only a class of fewer than k rows shows that the share is too large.
    """
    shares, rows = judged.shares.get(str(requirement.person)), judged.smallest
    highest = Fraction(1, rows) if shares is None else shares.highest
    too_large = highest > requirement.required
    if shares is not None or too_large:
        return Check(requirement, chance(float(highest)), holds=not too_large)
    reason = f"the column {requirement.person!r} is not in the table"
    return Check(requirement, None, holds=False, reason=reason, judged=False)


def risks_of(
    requirements: Sequence[Requirement],
    rows: int,
    classes: int,
    k: int,
    shares: Mapping[str, Shares],
) -> Risks:
    """The risks of rows, or of persons if a requirement counts them; the worst of all columns."""
    names = person_columns(requirements)
    if not names:
        average = classes / rows
        return Risks(1 / k, average, 1 / k, average)
    for name in names:
        if name not in shares:
            return Risks(None, None, None, None, person=name)
    found = [_risks_of_persons(name, shares[name], rows) for name in names]
    return max(found, key=lambda risks: risks.prosecutor or 0.0)


def _risks_of_persons(name: str, shares: Shares, rows: int) -> Risks:
    highest = float(shares.highest)
    return Risks(
        prosecutor=highest,
        prosecutor_average=float(sum(shares.squares.values(), Fraction(0)) / rows),
        journalist=highest,
        marketer=shares.most / rows,
        person=name,
    )


# ── requirements on sensitive columns ───────────────────────────────────────────────────────────


def achieved(column: SensitiveColumn, figures: Figures) -> Achieved:
    """All figures of a column as floats."""
    share, gain, total = figures.share, figures.gain, column.total
    return Achieved(
        column=column.name,
        distinct_l=figures.distinct,
        frequency_l=float(1 / share),
        entropy_l=math.exp(figures.entropy),
        recursive_c_for_2=rounded(figures.recursive[2]),
        recursive_c_for_3=rounded(figures.recursive[3]),
        t_equal=float(figures.equal),
        t_ordered=rounded(figures.ordered),
        t_hierarchical=rounded(figures.hierarchical),
        alpha=float(share),
        beta=float(gain),
        enhanced_beta=float(gain) if figures.bounded else None,
        delta=figures.log_ratio,
        certain=figures.certain / total,
        similar=None if column.numbers is None else figures.similar / total,
        merged=column.merged,
    )


def _check(requirement: SensitiveRequirement, column: SensitiveColumn, figures: Figures) -> Check:
    match requirement:
        case LDiversity():
            return _check_diversity(requirement, figures)
        case TCloseness(distance=distance):
            return _at_most(requirement, getattr(figures, distance or "equal"))
        case AlphaK():
            return _check_share(requirement, column, figures)
        case BetaLikeness(enhanced=enhanced):
            bounded = not enhanced or figures.bounded
            return _at_most(requirement, figures.gain if bounded else None)
        case DeltaDisclosure(delta=delta):
            ratio = figures.log_ratio
            return _figure(requirement, ratio, ratio is not None and ratio < delta)


def _check_diversity(requirement: LDiversity, figures: Figures) -> Check:
    l = requirement.l  # noqa: E741 - its name in the literature
    match requirement.kind:
        case "distinct":
            return _figure(requirement, figures.distinct, figures.distinct >= l)
        case "frequency":
            share = figures.share
            return _figure(requirement, float(1 / share), share * int(l) <= 1)
        case "entropy":
            least = figures.entropy
            return _figure(requirement, math.exp(least), least >= math.log(l) - TOLERANCE)
        case "recursive":
            bound = figures.recursive[int(l)]
            holds = bound is not None and bound < exactly(requirement.required)
            return _figure(requirement, rounded(bound), holds)


def _check_share(requirement: AlphaK, column: SensitiveColumn, figures: Figures) -> Check:
    """Check the largest share; warn of listed values that do not occur.

    Such a value may be misspelled, and then it is not protected.
    """
    listed = requirement.values
    found = _at_most(requirement, figures.share if listed is None else figures.listed[(*listed,)])
    absent = 0 if listed is None else column.absent(listed)
    if not absent:
        return found
    return replace(found, reason=f"{count(absent, 'listed value')} not found; check the spelling")


def _at_most(requirement: SensitiveRequirement, found: Fraction | None) -> Check:
    holds = found is not None and found <= exactly(requirement.required)
    return _figure(requirement, rounded(found), holds)


def _figure(requirement: SensitiveRequirement, found: float | None, holds: bool) -> Check:
    return Check(requirement, found, holds, "" if found is not None else requirement.unbounded)
