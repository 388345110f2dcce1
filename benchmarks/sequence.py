"""Measure releases that follow one another: what it costs to keep everyone's class together.

Adult: 70 % of the people first; then 95 % of them and the other 30 %. Demo people: twelve months,
in each of which 2 % leave, 4 % join and 3 % change a value. Each release is compared with one from
scratch of everyone who is there, and with one of the people whom it releases. Candidates are
counted by brute force from the classes of all releases.
Run: python -m benchmarks.sequence [--data FOLDER] [--rows N] [--months M] [--reserves R ...]
[--change SHARE]
"""

import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from benchmarks import tables

import covey
from covey import demo
from covey._core.arrays import Longs
from covey.clustering import METHODS
from covey.clustering.objectives import LOSS
from covey.custody.atoms import Atoms
from covey.encoding import EncodedTable, encode
from covey.encoding.groups import Groups
from covey.tables import Table

K = 10
ABSENT = -1
LEAVE, JOIN, CHANGE = 0.02, 0.04, 0.03  # shares of the people, each month


@dataclass
class Releases:
    """Releases of some people, one after another."""

    people: int
    reserve: int
    keep_shrunk: bool = False
    classes: list[Longs] = field(default_factory=list)  # of everyone, in each release

    def release(self, table: EncodedTable, present: Longs) -> "Figures":
        """Release the people who are present, from scratch and with all classes kept together."""
        scratch, alone = timed(table, K)
        atoms = Atoms.of(
            np.array([old[present] for old in self.classes]).reshape(-1, len(present)).T, K
        )
        kept = np.arange(len(present)) if self.keep_shrunk else np.flatnonzero(~atoms.shrunk)
        some = table.take(kept)
        if self.classes:
            some = replace(some, atoms=atoms.labels[kept])
        seen = np.any([old[present] != ABSENT for old in self.classes], axis=0)
        new = table.take(np.flatnonzero(~seen)) if self.classes else table
        groups, seconds = timed(some, K, self.reserve)
        free = replace(some, atoms=None)
        same = scratch if len(kept) == len(present) else timed(free, K)[0]
        own = np.full(self.people, ABSENT)
        own[present[kept]] = groups.labels
        self.classes.append(own)
        return Figures(
            loss(some, groups) / loss(table, scratch),
            loss(some, groups) / loss(free, same),
            1 - len(kept) / len(present),
            seconds / alone,
            int((self.candidates < K).sum()),
            loss(new, timed(new, K)[0]) / loss(table, scratch),
        )

    @property
    def candidates(self) -> Longs:
        """For each person of the last release, those who were in the same class every time."""
        members = [members_of(old) for old in self.classes]
        last = np.flatnonzero(self.classes[-1] != ABSENT)
        found = [
            set.intersection(
                *(classes[old[one]] for classes, old in zip(members, self.classes, strict=True)
                  if old[one] != ABSENT)
            )
            for one in last.tolist()
        ]  # fmt: skip
        return np.array([len(some) for some in found])


@dataclass(frozen=True)
class Figures:
    """One release, over one from scratch."""

    loss: float
    price: float  # the loss over that of the same people
    left_out: float
    seconds: float
    exposed: int
    new_alone: float  # the loss of new people who are released by themselves

    def __str__(self) -> str:
        return (
            f"loss × {self.loss:.3f} (same people × {self.price:.3f}), "
            f"left out {self.left_out:6.2%}, time × {self.seconds:.2f}, below k {self.exposed:,}, "
            f"only new people: loss × {self.new_alone:.3f}"
        )


def members_of(classes: Longs) -> dict[int, set[int]]:
    """The people of each class."""
    members: dict[int, set[int]] = {}
    for one, own in enumerate(classes.tolist()):
        if own != ABSENT:
            members.setdefault(own, set()).add(one)
    return members


def timed(table: EncodedTable, k: int, reserve: int = 0) -> tuple[Groups, float]:
    """Groups, and the CPU seconds that they took."""
    began = time.process_time()
    groups = METHODS["covey"](table, k, seed=1, reserve=reserve)
    assert isinstance(groups, Groups)
    return groups, time.process_time() - began


def loss(table: EncodedTable, groups: Groups) -> float:
    """The loss of a released cell."""
    return LOSS.cost(table, groups) / table.rows


def adult(people: EncodedTable, reserve: int, *, keep_shrunk: bool) -> Figures:
    """The second release of Adult."""
    draw = np.random.default_rng(5)
    order = draw.permutation(people.rows)
    cut = int(0.7 * people.rows)
    first, others = order[:cut], order[cut:]
    stay = first[draw.random(cut) < 0.95]
    releases = Releases(people.rows, reserve, keep_shrunk)
    for some in (np.sort(first), np.sort(np.concatenate([stay, others]))):
        figures = releases.release(people.take(some), some)
    return figures


def months(rows: int, number: int, change: float = CHANGE) -> Iterator[tuple[pl.DataFrame, Longs]]:
    """Everybody's table as it is in each month, and who is present."""
    draw = np.random.default_rng(7)
    everyone = int(rows * (1 + JOIN) ** number) + number
    table = demo.people(everyone)
    here, come = np.arange(rows), rows
    for _ in range(number):
        yield table, here
        stay = here[draw.random(len(here)) >= LEAVE]
        new = np.arange(come, min(come + round(JOIN * len(here)), everyone))
        come += len(new)
        here = np.concatenate([stay, new])
        table = changed(table, stay[draw.random(len(stay)) < change], draw)


def changed(table: pl.DataFrame, who: Longs, draw: np.random.Generator) -> pl.DataFrame:
    """The table after each of these people took another's value in a column."""
    columns = list(demo.schema().quasi)
    which = draw.integers(len(columns), size=len(who))
    other = draw.integers(table.height, size=len(who))
    for place, name in enumerate(columns):
        some = np.arange(table.height)
        some[who[which == place]] = other[which == place]
        table = table.with_columns(table[name][some])
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(description=__doc__)
    tables.add_data_option(parser)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--months", type=int, default=12)
    parser.add_argument("--reserves", type=int, nargs="*", default=[0, 2, 5])
    parser.add_argument("--change", type=float, default=CHANGE)
    chosen = parser.parse_args(arguments)
    schema = tables.adult_schema(chosen.data, flat=True)
    people = encode(Table(tables.adult(chosen.data)), schema)
    for reserve in chosen.reserves:
        for keep in (False, True):
            words = "shrunk kept    " if keep else "shrunk left out"
            print(f"Adult, reserve {reserve}, {words}: {adult(people, reserve, keep_shrunk=keep)}")
    quasi: covey.Schema = demo.schema()
    for reserve in chosen.reserves:
        print(f"{chosen.rows:,} people, reserve {reserve}")
        releases: Releases | None = None
        for month, (table, here) in enumerate(months(chosen.rows, chosen.months, chosen.change), 1):
            releases = releases or Releases(table.height, reserve)
            encoded = encode(Table(table[here]), quasi)
            print(f"  month {month:2}: {releases.release(encoded, here)}", flush=True)


if __name__ == "__main__":
    main()
