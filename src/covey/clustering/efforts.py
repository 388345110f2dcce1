"""How much work the covey method does for each effort, and how much of it is done.

An effort is a `Plan`. Its `Schedule` says which share of the work is over, by rounds or by the
clock.
"""

import math
import time
from dataclasses import dataclass, replace
from typing import Literal

from covey.declared import declared

Effort = Literal["fast", "quick", "balanced", "best"]


@dataclass(frozen=True)
class Plan:
    """The amount of work of an effort."""

    rounds: float  # at most
    gain: float  # share of the loss that a round must gain to be followed by another
    tries: int = 4
    growth: float = 0.0  # the power of k that the rounds grow with: each takes less time then
    least: float = 0.003  # as `gain`, under requirements beyond k
    gathers: float = math.inf  # lowest k for which new groups also gather rows of a whole block
    heat: float = 0.0  # by how much a new group may cost more at first, as a share of its cost,
    # with k = 1: with a larger k, new groups differ less in their cost
    start: int = 512  # rows in a block in which groups are grown
    room: int = 8  # groups of k, at least, for which such a block has room
    at_once: bool = False  # whether groups are re-formed there, too, and not only in rounds
    block: int = 4_096  # rows in a block in which groups are refined
    pool: int = 20  # rows that are re-formed together, but at least three groups
    hosts: int = 6  # more groups, which stay but may take in some of these rows
    longer: float = 1.0  # how many times as many rounds there are in a small table, at most
    share: float = 1.0  # of the rounds that is left in a large table

    def for_table(self, rows: int, k: int) -> "Plan":
        """This plan, with rounds and heat scaled to k and the number of rows."""
        share = min(1.0, math.sqrt(_MANY / rows))
        times = share * max(1.0, min(_FEW / rows, self.longer))
        plan = replace(self, share=share, heat=self.heat / k**_COOLER)
        return plan._in_rounds(self.rounds * times * k**self.growth)

    def _in_rounds(self, rounds: float) -> "Plan":
        """This plan with at most `rounds` rounds, never below a minimum; no heat if few."""
        rounds = max(rounds, min(self.rounds, _LEAST_ROUNDS))
        rounds = rounds if math.isinf(rounds) else int(rounds)
        return replace(self, rounds=rounds, heat=self.heat if rounds >= _ANNEALED else 0.0)

    @property
    def with_rounds(self) -> "Plan":
        """This plan with at least one round: only rounds suppress rows or meet requirements."""
        return replace(self, rounds=max(self.rounds, 1))

    @property
    def first(self) -> "Plan":
        """The rounds for k alone, before requirements beyond k are met: more of them do not pay."""
        return replace(self, rounds=min(self.rounds, 1), heat=0.0)

    @property
    def constrained(self) -> "Plan":
        """The rounds under such requirements: each takes longer, and more tries fail.

        So there are more tries where there is time for them, and fewer rounds where there is not.
        """
        tries = max(self.tries, int(2 * self.tries * self.share))
        plan = self.with_rounds
        return replace(plan, gain=self.least, tries=tries)._in_rounds(plan.rounds * self.share)

    def neighbours(self, k: int) -> int:
        """Number of groups that are re-formed together with each group."""
        return max(3, -(-self.pool // k)) - 1

    def cooled(self, share: float) -> float:
        """The heat after a share of the work: none in the last part of it."""
        return self.heat * max(0.0, 1.0 - share / _COOLED)


_DECLARED = declared(__package__, "efforts.toml")
PLANS: dict[Effort, Plan] = {name: Plan(**plan) for name, plan in _DECLARED["plans"].items()}
ANNEALING: dict[Effort, dict[str, int]] = _DECLARED["annealing"]
_FEW = 10_000  # rows below which there may be more rounds, because each takes less time
_MANY = 50_000  # rows from which there are fewer rounds, because each takes longer
_LEAST_ROUNDS = 3  # that are left then
_ANNEALED = 8  # rounds from which heat pays: fewer would not cool down
_COOLER = 0.25  # the power of k that the heat falls with
_COOLED = 0.85  # the share of the rounds, or of the time, after which there is no heat


@dataclass(frozen=True)
class Schedule:
    """How much of the work is done: by rounds or, if nothing else ends them, by the clock."""

    plan: Plan
    began: float
    end: float

    def done(self, rounds: float) -> float:
        """The share of the work that is done after this number of rounds."""
        if self.is_timed:
            return min((time.monotonic() - self.began) / (self.end - self.began), 1.0)
        return rounds / self.plan.rounds if self.plan.rounds else 1.0

    @property
    def is_timed(self) -> bool:
        """Whether nothing but the clock ends the rounds."""
        return math.isinf(self.plan.rounds)

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() > self.end
