"""Measure time and size of the register: a new release of a large table, and earlier ones.

The classes are blocks of k rows, in a different order for each release, since only the register is
measured: the hashes, the file, and what all releases guarantee together. Each earlier release has
four of five people, drawn at random, which is harder than the same people every time.
Run: python -m benchmarks.register [ROWS [RELEASES [SHARE [NEW]]]]
The new release has all people, or a share NEW of them: 0.001 for a small one beside large ones.
"""

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from covey import demo
from covey.custody.footprints import Footprint, Tracer
from covey.custody.keys import Key
from covey.custody.register import Register, remember
from covey.schema.requirements import KAnonymity
from covey.tables import Table

K = 10
KEY = Key(bytes(range(32)))


def trace(people: pl.DataFrame, number: int, share: float) -> Footprint:
    """The footprint of a release of some of the people."""
    draw = np.random.default_rng(number)
    rows = np.sort(draw.permutation(people.height)[: int(people.height * share)])
    near = people["age"].to_numpy()[rows] + draw.random(len(rows)) * 3  # people of similar age
    classes = np.empty(len(rows), dtype=np.int64)
    classes[np.argsort(near)] = np.minimum(np.arange(len(rows)) // K, len(rows) // K - 1)
    shown = pl.DataFrame({"age": classes})
    tracer = Tracer(KEY, demo.schema(), KAnonymity(K), people.columns)
    return tracer.footprint(Table(people), shown, rows)


def main(rows: int = 1_000_000, releases: int = 5, share: float = 0.8, few: float = 1.0) -> None:
    people = demo.people(rows)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "register.sqlite"
        for number in range(releases):
            found = trace(people, number, share)
            with Register(path, KEY).opened(make=True) as register:
                register.settle(register.enter(found, f"{number}.csv", str(number), {}))
        size = path.stat().st_size / releases / 1e6
        clock = _Clock()
        new = trace(people, releases, few)
        clock.tell("hashing")
        with remember(path, new, path="new.csv", sha256="", request={}, demand="warn") as entry:
            clock.tell("combining")
            with entry.publishing():
                pass
        clock.tell("settling")
        composed = entry.composition
    assert composed is not None
    print(f"{rows:,} rows against {composed.earlier} earlier releases of {share:.0%} of them")
    print(f"{sum(clock.seconds):.2f} s, {size:.1f} MB a release, {composed.below_k:.1%} below k")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak {peak:.2f} GiB, including {people.estimated_size() / 2**30:.2f} GiB for the table")


class _Clock:
    """Prints the elapsed time and the processor time of each step."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._began = time.perf_counter(), time.process_time()

    def tell(self, step: str) -> None:
        now = time.perf_counter(), time.process_time()
        elapsed, worked = (end - begin for end, begin in zip(now, self._began, strict=True))
        print(f"{step:>14} {elapsed:7.2f} s, {worked:.2f} s of work")
        self.seconds.append(elapsed)
        self._began = time.perf_counter(), time.process_time()


if __name__ == "__main__":
    main(*(kind(word) for kind, word in zip((int, int, float, float), sys.argv[1:], strict=False)))
