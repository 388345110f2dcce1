"""Measure the minimality attack: does a release show who has a rare value?

The adversary knows everyone's quasi-identifiers, the method, its options and the requirements, but
not the key. He wants to know which member of a published group has the rare value. For each
candidate he fills the groups with the values that the release shows, with the rare one for this
candidate, and forms groups several times under keys of his own. He names the candidate that his
groups of the candidate are most like the published one for. Chance is the share of candidates who
do have the value. People are invented; candidates are at most `CANDIDATES` of the group.

Each row has the rate of right guesses, chance, and the difference with its 95 % interval. Cases
that covey refuses by default are made with minimality = "accept".
Run: python -m benchmarks.minimality [--trials N] [--keys N] [--only TEXT]
"""

import argparse
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from statistics import fmean, stdev
from typing import Any

import numpy as np
import polars as pl

import covey
from covey._core.arrays import Longs
from covey.clustering.progress import silent
from covey.clustering.request import Request
from covey.encoding import EncodedTable, encode
from covey.engines import part
from covey.errors import GuaranteeError
from covey.repair.sizes import large_enough
from covey.schema.requirements import SENSITIVE_MODELS
from covey.tables import Table

CANDIDATES = 6
COMMON = ("a", "b", "c", "d")
SCHEMA = covey.Schema.of(
    quasi={
        "age": {"type": "numeric", "grid": 5},
        "zip": {"type": "categorical", "taxonomy": {"build": "prefixes"}},
        "sex": "categorical",
    },
    sensitive=["value"],
)


@dataclass(frozen=True)
class Case:
    """What is required of which people."""

    model: str
    setting: str | float
    k: int
    rare: int = 1  # people with the rare value
    rows: int = 60
    common: tuple[str, ...] = COMMON
    method: str = "covey"
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The case as it is named in results."""
        setting = str(self.setting).removesuffix(":rare")
        return f"{self.model} {setting} | {self.method} | {self.rows:,} | {self.rare} | {self.k}"

    def request(self) -> Request:
        """The request of custodian and adversary."""
        model = SENSITIVE_MODELS[self.model].parse("value", self.setting).completed(SCHEMA)
        asked = [covey.KAnonymity(self.k), model]
        schema = SCHEMA.requiring(minimality="accept")
        return Request.of(schema, asked, self.method, self.options)

    def people(self, draw: random.Random) -> pl.DataFrame:
        """Invented people, of whom some have the rare value."""
        zips = [f"{draw.choice((478, 479, 112))}{draw.randint(0, 99):02d}" for _ in self._each]
        values = [draw.choice(self.common) for _ in self._each]
        for row in draw.sample(self._each, self.rare):
            values[row] = "rare"
        return pl.DataFrame(
            {
                "age": [draw.randint(18, 80) for _ in self._each],
                "zip": zips,
                "sex": [draw.choice("mf") for _ in self._each],
                "value": values,
            }
        )

    @property
    def _each(self) -> range:
        return range(self.rows)


@dataclass(frozen=True, eq=False)
class Maker:
    """Forms groups of the same people with any values under any key."""

    table: EncodedTable
    request: Request

    def groups(self, values: Longs, seed: int) -> Longs:
        """The label of each row."""
        assert self.table.constraints is not None
        column = replace(self.table.constraints.columns["value"], values=values.astype(np.int32))
        constraints = replace(self.table.constraints, columns={"value": column})
        table = replace(self.table, constraints=constraints)
        others = pl.DataFrame({"value": values})
        formed = part.form(table, others, self.request, seed, silent)
        assert isinstance(formed.groups, covey.Groups)
        return formed.groups.labels

    @property
    def is_refused(self) -> bool:
        """Whether covey refuses the request by default."""
        try:
            large_enough(self.table, replace(self.request, accepts_minimality=False))
        except GuaranteeError:
            return True
        return False


@dataclass(frozen=True)
class Trial:
    """One attack: how surely it was right, by chance, and what the release had lost."""

    right: float
    chance: float
    loss: float
    refused: bool


def trial(case: Case, draw: random.Random, keys: int) -> Trial | None:
    """Attack one release; None if no release of these people meets the requirement."""
    frame, request = case.people(draw), case.request()
    table = encode(Table(frame), SCHEMA, require=request.requirements)
    assert table.constraints is not None
    column, maker = table.constraints.columns["value"], Maker(table, request)
    values = column.values.astype(np.int64)
    rare = column.known.to_list().index("rare")
    try:
        published = maker.groups(values, draw.getrandbits(60))
    except GuaranteeError:
        return None
    person = draw.choice(np.flatnonzero(values == rare).tolist())
    group = np.flatnonzero(published == published[person])
    others = [row for row in group.tolist() if row != person]
    some = [person, *draw.sample(others, min(CANDIDATES - 1, len(others)))]
    scores = [
        fmean(_likeness(maker, published, values, row, rare, draw) for _ in range(keys))
        for row in some
    ]
    best = [row for row, score in zip(some, scores, strict=True) if score == max(scores)]
    right, has = [fmean(values[row] == rare for row in rows) for rows in (best, some)]
    return Trial(right, has, table.objective(covey.Groups(published)), maker.is_refused)


def _likeness(
    maker: Maker, published: Longs, values: Longs, row: int, rare: int, draw: random.Random
) -> float:
    """How like the published group of a row its group is, if the row has the rare value."""
    groups = maker.groups(_supposed(published, values, row, rare, draw), draw.getrandbits(60))
    own, theirs = groups == groups[row], published == published[row]
    whole = _sets(groups) & _sets(published)
    return float((own & theirs).sum() / (own | theirs).sum()) + 1e-3 * len(whole)


def _supposed(published: Longs, values: Longs, row: int, rare: int, draw: random.Random) -> Longs:
    """The values of each group in a random order, with the rare one for a row."""
    supposed = values.copy()
    for label in np.unique(published):
        members = np.flatnonzero(published == label)
        supposed[members] = draw.sample(values[members].tolist(), len(members))
    members = np.flatnonzero(published == published[row])
    other = members[supposed[members] == rare][0]
    supposed[[row, other]] = supposed[[other, row]]
    return supposed


def _sets(labels: Longs) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}


def rate(case: Case, trials: int, keys: int, seed: int = 0) -> list[Trial]:
    """The attacks on releases of several tables."""
    found = (trial(case, random.Random(seed + number), keys) for number in range(trials))
    return [one for one in found if one is not None]


def cases() -> Iterator[Case]:
    """What is measured."""
    one = ("no",)  # besides the rare value
    for k in (3, 5, 8):
        for rare in (1, 4):
            yield Case("alpha", "0.2:rare", k, rare, common=one)
    for k in (3, 6):  # smaller ones are raised to 3, which every group needs
        for setting in ("distinct:3", "frequency:3", "entropy:2.5"):
            yield Case("l", setting, k, 3)
    for k in (3, 6):
        yield Case("t", "equal:0.4", k, 3)
        yield Case("beta", "basic:2", k, 3)
        yield Case("delta", 1.5, k, 6, common=("no", "a"))
    yield Case("beta", "basic:2", 7, 3)
    for k in (3, 5):
        yield Case("alpha", "0.2:rare", k, common=one, method="mondrian")
        for rows in (200, 1000):
            quick = {"effort": "quick"}
            yield Case("alpha", "0.2:rare", k, rows=rows, common=one, options=quick)


def line(case: Case, found: list[Trial]) -> str:
    """A row of the table of results."""
    if not found:
        return f"| {case.name} | not possible |"
    gains = [one.right - one.chance for one in found]
    room = 1.96 * stdev(gains) / math.sqrt(len(gains)) if len(gains) > 1 else math.inf
    right, chance = fmean(one.right for one in found), fmean(one.chance for one in found)
    refused = fmean(one.refused for one in found)
    return (
        f"| {case.name} | {right:.0%} | {chance:.0%} | {right - chance:+.0%} ± {room:.0%} | "
        f"{fmean(one.loss for one in found):.1f} | {refused:.0%} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--keys", type=int, default=4)
    parser.add_argument("--only", default="", help="cases that contain this text")
    given = parser.parse_args()
    print("| requirement | method | rows | rare | k | right | chance | gain | loss | refused |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for case in cases():
        if given.only in case.name:
            print(line(case, rate(case, given.trials, given.keys)), flush=True)


if __name__ == "__main__":
    main()
