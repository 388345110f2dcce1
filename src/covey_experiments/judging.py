"""Compute from points whether a claim holds.

A claim has parts. Each part is checked at every point that it applies to, and reports the share of
points at which it holds, with the numbers.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from itertools import pairwise
from typing import Concatenate, ParamSpec

import numpy as np

NEARLY = 0.98  # share of the variance: points that a line explains this well look straight


class Outcome(StrEnum):
    """The outcome of a claim."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    OPEN = "not measured yet"


@dataclass(frozen=True)
class Finding:
    """One part of a claim, and what the points say about it."""

    says: str
    share: float  # of the points that were checked, the share at which it holds

    @property
    def outcome(self) -> Outcome:
        """Whether it holds everywhere, somewhere or nowhere."""
        if self.share >= 1:
            return Outcome.HOLDS
        return Outcome.IN_PART if self.share > 0 else Outcome.FAILS


@dataclass(frozen=True)
class Verdict:
    """The findings on all parts of a claim."""

    findings: tuple[Finding, ...]

    @property
    def outcome(self) -> Outcome:
        """The outcome of its parts if they agree, otherwise "holds in part"."""
        outcomes = {finding.outcome for finding in self.findings}
        if not outcomes:
            return Outcome.OPEN
        return outcomes.pop() if len(outcomes) == 1 else Outcome.IN_PART


@dataclass(frozen=True)
class Curve:
    """One line of a figure: the means of its runs, and their range."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    least: tuple[float, ...] = ()
    most: tuple[float, ...] = ()
    runs: int = 1
    sizes: tuple[float, ...] = ()  # mean number of rows in a group, at each point

    def at(self, x: float) -> float:
        """The mean at one of the line's x values."""
        return self.y[self.x.index(x)]


Curves = Mapping[str, Curve]
Part = Callable[[Curves], Finding]


def judge(parts: Sequence[Part], curves: Curves) -> Verdict:
    """The verdict on a claim; it is open until every line has two points."""
    if any(len(curve.x) < 2 for curve in curves.values()) or not curves:
        return Verdict(())
    return Verdict(tuple(part(curves) for part in parts))


# ── parts of claims ─────────────────────────────────────────────────────────────────────────────


P = ParamSpec("P")


def _counted(says: str, holds: Sequence[bool]) -> Finding:
    """A finding that holds at some of several points; `says` gets their number and that of all."""
    return Finding(says.format(sum(holds), len(holds)), sum(holds) / len(holds))


def _part(look: Callable[Concatenate[Curves, P], Finding]) -> Callable[P, Part]:
    """Turn a check of curves into one whose lines are named first and checked later."""

    @wraps(look)
    def declared(*named: P.args, **limits: P.kwargs) -> Part:
        return lambda curves: look(curves, *named, **limits)

    return declared


def below(line: str, other: str, *, of: Sequence[float] | None = None) -> Part:
    """One line lies below another at every x, or at the x values in `of`."""
    return _beside(line, "below", other, operator.lt, of)


def above(line: str, other: str) -> Part:
    """One line lies above another at every x."""
    return _beside(line, "above", other, operator.gt)


@_part
def _beside(
    curves: Curves,
    line: str,
    where: str,
    other: str,
    holds: Callable[[float, float], bool],
    of: Sequence[float] | None = None,
) -> Finding:
    one, two = _both(curves, line, other, of)
    says = f"{line} is {where} {other} at {{}} of {{}} points: {_apart(one, two)}."
    return _counted(says, [*map(holds, one, two)])


@_part
def near(curves: Curves, line: str, other: str, within: float) -> Finding:
    """Two lines lie within a share of each other at every x."""
    ratios = _gains(curves, line, other)
    return _counted(
        f"{line} is within {_percent(within)} of {other} at {{}} of {{}} points: it differs by "
        f"{_span(ratios)}.",
        [abs(ratio) <= within for ratio in ratios],
    )


def rises(line: str) -> Part:
    """A line goes up from each point to the next."""
    return _steps(line, "rises", operator.lt)


def falls(line: str) -> Part:
    """A line goes down from each point to the next."""
    return _steps(line, "falls", operator.gt)


def holds_up(line: str) -> Part:
    """A line never goes down."""
    return _steps(line, "does not fall", operator.le)


@_part
def _steps(curves: Curves, line: str, verb: str, holds: Callable[[float, float], bool]) -> Finding:
    y = curves[line].y
    steps = [holds(before, after) for before, after in pairwise(y)]
    return _counted(f"{line} {verb} in {{}} of {{}} steps, {_ends(y)}.", steps)


@_part
def erratic(curves: Curves, line: str) -> Finding:
    """A line goes up in some steps and down in others."""
    y = curves[line].y
    steps = [after > before for before, after in pairwise(y)]
    both = any(steps) and not all(steps)
    how = "goes up and down" if both else "only rises" if steps[0] else "only falls"
    return Finding(f"{line} {how}, {_ends(y)}.", float(both))


@_part
def straight(curves: Curves, line: str, passes: float = NEARLY) -> Finding:
    """A line rises and is straight, or nearly so."""
    x, y = np.array(curves[line].x), np.array(curves[line].y)
    along = float(np.corrcoef(x, y)[0, 1]) if np.ptp(y) > 0 else 0.0
    how = "rising" if along > 0 else "falling" if along < 0 else "level"
    return Finding(
        f"A {how} straight line explains {_percent(along**2)} of the variance of {line}; "
        f"a rising one with {_percent(passes)} passes.",
        float(along > 0 and along**2 >= passes),
    )


@_part
def power(curves: Curves, line: str, least: float, most: float) -> Finding:
    """A line grows like a power of x."""
    logarithms = np.log(curves[line].x), np.log(curves[line].y)
    exponent = float(np.polyfit(*logarithms, 1)[0])
    return Finding(
        f"{line} grows like the power {exponent:.2f} of x; {least:g} to {most:g} passes.",
        float(least <= exponent <= most),
    )


@_part
def groups_of_k(curves: Curves, line: str, within: float) -> Finding:
    """Groups have k rows on average, or slightly more; x must be k."""
    over = [size / k - 1 for k, size in zip(curves[line].x, curves[line].sizes, strict=True)]
    return _counted(
        f"Groups of {line} are on average at most {_percent(within)} larger than k at {{}} of {{}} "
        f"points: by {_span(over)}.",
        [excess <= within for excess in over],
    )


@_part
def ratio_below(curves: Curves, one: tuple[str, str], other: tuple[str, str]) -> Finding:
    """The ratio of two lines lies below that of two others at every x."""
    a, b = ([gain + 1 for gain in _gains(curves, *pair)] for pair in (one, other))
    return _counted(
        f"{one[0]} is {_number(min(a))} to {_number(max(a))} times {one[1]}, {other[0]} "
        f"{_number(min(b))} to {_number(max(b))} times {other[1]}; the first is less at "
        "{} of {} points.",
        [x < y for x, y in zip(a, b, strict=True)],
    )


@_part
def at_most(curves: Curves, line: str, limit: float, unit: str) -> Finding:
    """A line never goes above a limit."""
    y = curves[line].y
    return Finding(
        f"{line} takes at most {_number(max(y))} {unit}; {limit:g} {unit} passes.",
        sum(value <= limit for value in y) / len(y),
    )


@_part
def gain(curves: Curves, line: str, other: str, least: float, most: float) -> Finding:
    """A line is higher, thus better, than another by a share between `least` and `most`."""
    gains = _gains(curves, line, other)
    return _counted(
        f"{line} is {_percent(least)} to {_percent(most)} better than {other} at {{}} of {{}} "
        f"points: it is better by {_span(gains)}.",
        [least <= gain <= most for gain in gains],
    )


@_part
def gain_steady(curves: Curves, line: str, other: str, within: float) -> Finding:
    """The gain of a line over another is nearly the same at every x."""
    gains = _gains(curves, line, other)
    apart = max(gains) - min(gains)
    how = "is steady" if apart <= within else "is not steady"
    return Finding(
        f"The gain of {line} over {other} {how}: {signed(min(gains))} and {signed(max(gains))} "
        f"are {100 * apart:.0f} points apart; {100 * within:.0f} pass.",
        float(apart <= within),
    )


@_part
def gain_reaches(curves: Curves, line: str, other: str, top: float, within: float) -> Finding:
    """The largest gain of a line over another is about `top`."""
    largest = max(_gains(curves, line, other))
    return Finding(
        f"{line} is better than {other} by at most {signed(largest)}; "
        f"{_percent(top - within)} to {_percent(top + within)} passes.",
        float(abs(largest - top) <= within),
    )


@_part
def gain_widens(curves: Curves, line: str, other: str) -> Finding:
    """The gain of a line over another increases from each point to the next."""
    gains = _gains(curves, line, other)
    steps = [after > before for before, after in pairwise(gains)]
    ends = f"from {signed(gains[0])} to {signed(gains[-1])}"
    return _counted(f"The gain of {line} over {other} widens in {{}} of {{}} steps, {ends}.", steps)


def spread_shrinks(lines: Sequence[str]) -> Part:
    """The gap between the highest and the lowest line is smaller at the last x than at first."""
    return _spread(lines, "shrinks", operator.gt)


def spread_widens(lines: Sequence[str]) -> Part:
    """The gap between the highest and the lowest line is larger at the last x than at first."""
    return _spread(lines, "widens", operator.lt)


@_part
def _spread(
    curves: Curves, lines: Sequence[str], verb: str, holds: Callable[[float, float], bool]
) -> Finding:
    ends = [[curves[line].y[place] for line in lines] for place in (0, -1)]
    first, last = (max(values) - min(values) for values in ends)
    every = "the highest and the lowest of the paper’s methods"
    named = " and ".join(lines) if len(lines) == 2 else every
    how = verb if holds(first, last) else "does not " + verb.removesuffix("s")
    return Finding(
        f"The gap between {named} {how}: {_number(first)} at the first point, {_number(last)} at "
        "the last.",
        float(holds(first, last)),
    )


@_part
def best(
    curves: Curves, line: str, others: Sequence[str], *, low: bool, called: str = "best"
) -> Finding:
    """A line is the lowest or the highest of several at every x."""
    own = curves[line].y
    rivals = [
        (min if low else max)((curves[o].at(x), o) for o in others if x in curves[o].x)
        for x in curves[line].x
    ]
    wins = [y < rival if low else y > rival for y, (rival, _) in zip(own, rivals, strict=True)]
    says = (
        f"{line} is the {called} of the paper’s methods at {sum(wins)} of {len(own)} "
        f"points: compared with the next, {_apart(own, [rival for rival, _ in rivals])}."
    )
    if not all(wins):
        ahead = dict.fromkeys(name for (_, name), win in zip(rivals, wins, strict=True) if not win)
        says += f" Elsewhere: {', '.join(ahead)}."
    return Finding(says, sum(wins) / len(wins))


# ── numbers ─────────────────────────────────────────────────────────────────────────────────────


def _both(
    curves: Curves, line: str, other: str, of: Sequence[float] | None = None
) -> tuple[list[float], list[float]]:
    one, two = curves[line], curves[other]
    common = [x for x in one.x if x in two.x]
    places = [x for x in common if of is None or x in of] or common
    return [one.at(x) for x in places], [two.at(x) for x in places]


def _gains(curves: Curves, line: str, other: str) -> list[float]:
    one, two = _both(curves, line, other)
    return [a / b - 1 for a, b in zip(one, two, strict=True)]


def _apart(one: Sequence[float], two: Sequence[float]) -> str:
    ratios = [a / b - 1 if b else math.inf for a, b in zip(one, two, strict=True)]
    if max(ratios) > 1:
        times = [ratio + 1 for ratio in ratios]
        return f"{_number(min(times))} to {_number(max(times))} times as much"
    return _span(ratios)


_NO_BREAK = "\N{NO-BREAK SPACE}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g}{_NO_BREAK}%"


def signed(ratio: float) -> str:
    """`+4.2 %` or `−4.2 %`, without a line break."""
    return f"{100 * ratio:+.1f}{_NO_BREAK}%".replace("-", "−")


def _ends(y: Sequence[float]) -> str:
    return f"from {_number(y[0])} to {_number(y[-1])}"


def _span(ratios: Sequence[float]) -> str:
    return f"{signed(min(ratios))} to {signed(max(ratios))}"


def _number(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
