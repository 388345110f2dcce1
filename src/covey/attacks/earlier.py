"""Attackers who have earlier releases of the same people, too, as the register knows them."""

from collections.abc import Iterator

from covey.attacks.case import Case
from covey.attacks.findings import Finding
from covey.attacks.knowledge import QUASI, Attacker
from covey.attacks.rates import Rate, wilson
from covey.custody.register import Register


def with_earlier(
    case: Case, register: Register | None, data: list[str], untried: list[tuple[str, str]]
) -> Iterator[Finding]:
    """Who is left with fewer than k candidates, and whose value is then certain."""
    found = None
    if register is not None and case.sha256 is not None:
        found = register.combined(case.sha256)
    if found is None or not found.earlier:
        why = "the register knows none of these people" if found else "not in the register"
        untried.append(("earlier releases", why))
        return
    data.append(f"{found.earlier:,} other releases of the same people")
    names = tuple(column.name for column in case.quasi)
    attacker = Attacker(names, group=f"{QUASI}, with other releases")

    every = [(c.together, c.alone, c.column) for c in found.certain]
    for share, chance, column in ((found.below_k, 0.0, None), *every):
        low, high = wilson(share, case.rows)
        rate = Rate(share, chance, low - chance, high - chance, case.rows)
        yield Finding("inference" if column else "singling out", attacker, rate, column)
