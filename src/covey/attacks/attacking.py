"""Attack a release by its original: every attacker, every criterion."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from covey import tables
from covey.attacks.again import Control, Make, maker, membership
from covey.attacks.attempts import by_order, doubts, guessed, matched, tried
from covey.attacks.case import Case
from covey.attacks.earlier import with_earlier
from covey.attacks.findings import MEANINGS, Attack, Finding, ordered
from covey.attacks.knowledge import Attackers
from covey.attacks.refining import refinement
from covey.clustering.progress import Progress, silent
from covey.custody.register import Register
from covey.errors import GuaranteeError, UsageError
from covey.schema import Schema

Untried = list[tuple[str, str]]  # what, and why


def attack(  # noqa: PLR0913 - what attackers may have
    release: Any,
    original: Any,
    schema: Schema | None = None,
    *,
    k: int | None = None,
    population: Any = None,
    control: float | None = None,
    register: str | Path | Literal[False] | None = None,
    make: Make | None = None,
    trials: int = 10,
    seed: int = 0,
    progress: Progress = silent,
) -> Attack:
    """Attack a release as intruders would, each with other knowledge.

    `release` is a `Release`, a path or a dataframe; `original` is the table that it was made from.
    Only a `Release` knows its `schema`. Who is fitted by fewer than `k` released rows is singled
    out; by default that is the k of the release.

    With a `population`, a table of everyone with the people of the original, attackers may not know
    who is in the original. `control` is a share of the people who are held back before the others
    are released again: chance is then what is guessed of them. Earlier releases of the same people
    are those in the `register`. `make` releases a table as this release was made; by default
    `covey.anonymize` does, by the schema. It releases samples with and without somebody, in as many
    `trials`.
    """
    for name, number, least in (("k", k, 1), ("trials", trials, 0)):
        if number is not None and number < least:
            raise UsageError(f"{name} is at least {least}")
    progress("reading", 0.0)
    case = Case.of(release, original, schema, k, seed)
    data, untried = ["the original"], Untried()
    if population is not None:
        case = case.among(tables.read(population, case.schema))
        data.append("a table of the population")
    else:
        untried.append(("attackers who do not know who is in the table", "no population given"))
    against = None
    if control is None:
        untried.append(("the same guesses about people who are not in the release", "no control"))
    else:
        against = Control.of(case, control, make or maker(case, progress))
        by = f"a release by k = {case.k:,} and what the schema requires"
        data.append(f"{control:.0%} of the people, held back from {by}")
    found = [*_standard(case, against, progress)]
    found += _more(case, seed, untried)
    if not trials:
        untried.append(("membership" if control is None else "membership on samples", "no trials"))
    else:
        try:
            found += membership(case, make or maker(case, silent), trials, seed, progress)
        except GuaranteeError:
            untried.append(("membership", "samples of the table cannot meet the requirements"))
    found += with_earlier(case, Register.of(register), data, untried)
    tried_of = {one.criterion for one in found} | {what for what, _ in untried}
    untried += [(what, "nothing to try it on") for what in MEANINGS if what not in tried_of]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    attacked = Attack(
        *(now, case.k, case.rows, len(case.order), case.sha256, tuple(data)),
        *(ordered(found), tuple(untried), tuple(doubts(case))),
    )
    return attacked.with_remedies(case.schema)


def _standard(case: Case, against: Control | None, progress: Progress) -> Iterator[Finding]:
    """What all attackers find who compare a person with the rows of the release."""
    attackers, targets = Attackers(case.columns, case.known), case.targets()
    telling: dict[str, float] = {}
    every = [*attackers.alone()]
    for place, attacker in enumerate(every):
        progress("attacking", place / (len(every) + 40))
        success = tried(case, attacker, targets if against is None else ())
        yield from matched(case, attacker, success)
        yield from against.findings(attacker) if against else guessed(attacker, success, targets)
        if place < len(case.columns):
            telling[attacker.columns[0]] = float(success.picked.mean())
        if len(telling) == len(case.columns) == len(every):
            every += attackers.together(sorted(case.known, key=lambda name: -telling[name]))


def _more(case: Case, seed: int, untried: Untried) -> Iterator[Finding]:
    """Attacks on what a release shows besides its cells."""
    if any(one.render for one in case.schema.quasi.values()):
        untried.append(("the nearest mean", "who knows a value accepts any mean"))
    for what, found, why in (
        ("the order of the rows", by_order(case), "the release has another number of rows"),
        (
            "refinement",
            refinement(case, seed),
            "it is certain of too few people which class is theirs",
        ),
    ):
        if found is None:
            untried.append((what, why))
        else:
            yield found
