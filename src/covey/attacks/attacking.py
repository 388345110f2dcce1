"""Attack a release by its original: every attacker, every criterion."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from covey.attacks.attempts import findings, tried
from covey.attacks.case import Case
from covey.attacks.findings import Attack, Finding, ordered
from covey.attacks.knowledge import Attackers
from covey.attacks.remedies import remedies_for
from covey.clustering.progress import Progress, silent
from covey.schema import Schema


def attack(
    release: Any,
    original: Any,
    schema: Schema | None = None,
    *,
    k: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Attack:
    """Attack a release as intruders would, each with other knowledge.

    `release` is a `Release`, a path or a dataframe; `original` is the table that it was made from.
    Without a `schema`, that of the release or of the description beside it is used. Who is fitted
    by fewer than `k` released rows is singled out; by default that is the k of the release.
    """
    progress("reading", 0.0)
    case = Case.of(release, original, schema, k, seed)
    found = [
        replace(one, remedies=remedies_for(one, case.schema, case.k))
        for one in _standard(case, progress)
    ]
    return Attack(
        *(datetime.now(UTC).isoformat(timespec="seconds"), case.k, case.rows, len(case.order)),
        *(case.sha256, ("the original table",), ordered(found), ()),
    )


def _standard(case: Case, progress: Progress) -> Iterator[Finding]:
    """What all attackers find who compare a person with the rows of the release."""
    attackers, targets = Attackers(case.columns, case.known), case.targets()
    telling = {}
    for place, attacker in enumerate(attackers.alone()):
        progress("attacking", 0.3 * place / len(case.columns))
        success = tried(case, attacker, targets)
        telling[attacker.columns[0]] = float(success.picked.mean())
        yield from findings(case, attacker, success, targets)
    known = sorted(case.known, key=lambda name: -telling[name])
    every = [*attackers.together(known)]
    for place, attacker in enumerate(every):
        progress("attacking", 0.3 + 0.7 * place / len(every))
        yield from findings(case, attacker, tried(case, attacker, targets), targets)
