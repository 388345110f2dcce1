"""What several releases together tell of people, by brute force.

The attacker holds all released files, knows everybody's quasi-identifiers, and so in which class of
a release somebody is if they are in it, and knows who is in which release.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

# By person, what the release shows of them; people with the same are one class.
Shown = Mapping[int, Any]


def candidates(releases: Sequence[Shown]) -> dict[int, int]:
    """For each person of the last release, how many were in the same class as they every time."""
    return {person: len(alike(person, releases)) for person in releases[-1]}


def alike(person: int, releases: Sequence[Shown]) -> set[int]:
    """Who was in the same class as this person in every release that has this person."""
    classes = [
        {other for other in shown if shown[other] == shown[person]}
        for shown in releases
        if person in shown
    ]
    return set.intersection(*classes)


def came_alone(releases: Sequence[Shown]) -> dict[int, int]:
    """For each person, how many came and went with them: in the same releases, in the same classes.

    The others of a class are also in another release, or are not. Whoever subtracts the sensitive
    values of the two is left with those of these people.
    """
    everyone = {person for shown in releases for person in shown}
    trace = {person: tuple(shown.get(person) for shown in releases) for person in everyone}
    return {person: sum(trace[other] == trace[person] for other in everyone) for person in everyone}


def difference(before: Shown, after: Shown, values: Mapping[int, str]) -> dict[int, str]:
    """Whose sensitive value two releases give away: the attacker subtracts the values of a class.

    They know who is in which class, and so also who came or left. If one class holds all people of
    another one, the values that are left over are those of the others: certain if all are equal.
    """
    found: dict[int, str] = {}
    for small, large in ((before, after), (after, before)):
        for inner, outer in product({*small.values()}, {*large.values()}):
            inside = {one for one in small if small[one] == inner}
            others = {one for one in large if large[one] == outer} - inside
            left = Counter(values[one] for one in large if large[one] == outer)
            if inside <= {*large} and all(large[one] == outer for one in inside):
                left -= Counter(values[one] for one in inside)
                found |= {one: value for value in left for one in others if len(left) == 1}
    return found


def hopeless(here: Sequence[int], before: Sequence[Shown], k: int) -> set[int]:
    """Who would have fewer than k candidates, whatever was released of those who have k."""
    rest = dict.fromkeys(here, 0)
    while rest:
        few = [one for one in rest if len(alike(one, [*before, rest])) < k]
        if not few:
            break
        for one in few:
            del rest[one]
    return {*here} - {*rest}
