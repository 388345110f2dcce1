"""How much work the covey method does for each effort, and how much of it is done.

An effort is a `Plan`. Its `Schedule` says which share of the work is over, by rounds or by the
clock.
"""

import math
import time
from dataclasses import dataclass, replace
from typing import Literal

Effort = Literal["fast", "quick", "balanced", "best"]


@dataclass(frozen=True)
class Plan:
    """The amount of work of an effort."""

    rounds: float  # at most
    gain: float  # share of the loss that a round must gain to be followed by another
    tries: int = 4
    growth: float = 0.0  # the power of k that the rounds grow with: each takes less time then
    least: float = 0.01  # as `gain`, under requirements beyond k
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

    def for_table(self, rows: int, k: int) -> "Plan":
        """The same with as many rounds and as much heat as pay with this k and so many rows."""
        times = max(1.0, min(_FEW / rows, self.longer))
        return replace(
            self,
            rounds=int(self.rounds * times * k**self.growth),
            gain=max(self.gain, min(self.gain * rows / _MANY, _LARGEST_GAIN)),
            heat=self.heat / k**_COOLER,
        )

    @property
    def with_rounds(self) -> "Plan":
        """The same with one round at least: only rounds suppress rows or mind requirements."""
        return replace(self, rounds=max(self.rounds, 1))

    @property
    def first(self) -> "Plan":
        """The rounds for k alone, before requirements beyond k are met: more of them do not pay."""
        return replace(self, rounds=min(self.rounds, 1), heat=0.0)

    @property
    def constrained(self) -> "Plan":
        """The rounds under such requirements: each takes longer, and more tries pay less."""
        return replace(self.with_rounds, gain=self.least, tries=min(self.tries, 2))

    def neighbours(self, k: int) -> int:
        """Number of groups that are re-formed together with each group."""
        return max(3, -(-self.pool // k)) - 1

    def cooled(self, share: float) -> float:
        """The heat after a share of the work: none in the last part of it."""
        return self.heat * max(0.0, 1.0 - share / _COOLED)


PLANS: dict[Effort, Plan] = {
    "fast": Plan(rounds=0, gain=0.0, tries=1, room=24, at_once=True, pool=0, hosts=2),
    "quick": Plan(rounds=2, gain=0.01, tries=2),
    "balanced": Plan(rounds=12, gain=0.002, gathers=50),
    "best": Plan(
        rounds=50,
        gain=0.001,
        tries=2,
        growth=0.2,
        least=0.002,
        gathers=10,
        heat=0.3,
        block=8_192,
        pool=30,
        longer=20.0,
    ),
}
_FEW = 10_000  # rows below which there may be more rounds, because each takes less time
_MANY = 100_000  # rows from which a round must gain more, because it takes longer
_LARGEST_GAIN = 0.01  # that a round must gain then, as a share of the loss
_COOLER = 0.25  # the power of k that the heat falls with
_COOLED = 0.85  # the share of the rounds, or of the time, after which there is no heat


@dataclass(frozen=True)
class Schedule:
    """How much of the work is done: by rounds or, if nothing else ends them, by the clock."""

    plan: Plan
    began: float
    end: float

    def done(self, rounds: float) -> float:
        """The share of the work that is done after so many rounds."""
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
