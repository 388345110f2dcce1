"""How often an attacker is right, how often chance is, and the interval of the difference.

Intervals cover 95 % if the attacked people are a random sample. They come from formulas that hold
for few people and for rates near 0 and 1, too: Wilson's for a rate, Bonett and Price's for the
difference of two rates on the same people, Agresti and Caffo's for that on different people.
"""

import math
from dataclasses import dataclass

import numpy as np

from covey._core.arrays import Floats

_NORMAL = 1.959964


@dataclass(frozen=True)
class Rate:
    """The rate of an attack on some people, and that of chance."""

    rate: float
    chance: float
    low: float  # of the gain, with 95 %
    high: float
    people: int  # attacked

    @property
    def gain(self) -> float:
        """How much more often the attacker is right than chance."""
        return self.rate - self.chance


def rate(right: Floats, chance: float = 0.0) -> Rate:
    """The mean of how surely each attack is right, and a chance that is known exactly."""
    low, high = wilson(float(right.mean()), len(right))
    return Rate(float(right.mean()), chance, low - chance, high - chance, len(right))


def paired(right: Floats, by_chance: Floats) -> Rate:
    """Attacks and guesses about the same people."""
    gains = np.append(right - by_chance, [1.0, -1.0])
    middle, room = float(gains.mean()), _NORMAL * math.sqrt(gains.var() / len(gains))
    low, high = max(middle - room, -1.0), min(middle + room, 1.0)
    return Rate(float(right.mean()), float(by_chance.mean()), low, high, len(right))


def controlled(right: Floats, control: Floats) -> Rate:
    """The same attack on people in the release, and on people who are not in it."""
    means, spread = [], 0.0
    for some in (right, control):
        padded = np.append(some, [1.0, 0.0])
        means.append(padded.mean())
        spread += padded.var() / len(padded)
    middle, room = means[0] - means[1], _NORMAL * math.sqrt(spread)
    low, high = max(middle - room, -1.0), min(middle + room, 1.0)
    return Rate(float(right.mean()), float(control.mean()), float(low), float(high), len(right))


def wilson(share: float, number: int) -> tuple[float, float]:
    """Wilson's interval of a rate."""
    square = _NORMAL**2
    middle = (share + square / (2 * number)) / (1 + square / number)
    room = math.sqrt(share * (1 - share) / number + square / (4 * number**2))
    room *= _NORMAL / (1 + square / number)
    return max(middle - room, 0.0) if share else 0.0, min(middle + room, 1.0)
