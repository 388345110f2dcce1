"""Measure the objective sse on the reference tables of microaggregation (CASC): SSE / SST and time.

SSE is the sum of the squared distances of all rows to the means of their groups, in standard
deviations of each column; SST is that to the mean of the table. Both are computed here, from the
labels alone. Seconds are those of the processor, over all cores, for clustering. With `--bound`, it
also computes a lower bound for k = 3, which no grouping can go below.

With `--peers`, the MDAV of anonypyx and that of the R package sdcMicro run on the same z-scores.
Both release means, and SSE is the part of SST that these do not explain.
anonypyx is installed into its own environment, as `benchmarks/peers.py` does. sdcMicro runs if
Rscript finds it. Seconds are those of the call that makes the release, in its own process.
Run: python -m benchmarks.microaggregation [--data FOLDER] [--effort NAME ...] [--bound] [--peers]
"""

import argparse
import json
import math
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from benchmarks import peers, tables
from numpy.typing import NDArray

from covey import METHODS, Schema
from covey.clustering.microaggregation import PLANS
from covey.encoding import encode
from covey.tables import Table

Floats = NDArray[np.float64]
KS = (3, 4, 5, 10)
# The literature's EIA is UTILITYID and the ten columns of revenues and sales.
CASC = {"Tarragona": "Tarragona.csv", "Census": "CASCrefmicrodata.csv", "EIA": "EIA.csv"}
LEFT_OUT = ("UTILNAME", "STATE", "YEAR", "MONTH")


def casc(folder: Path | None) -> Iterator[tuple[str, pl.DataFrame]]:
    for name, file in CASC.items():
        path = tables.find(folder, file)
        if path is None:
            print(f"{file} is missing: give --data a folder with the CASC tables")
            continue
        yield name, pl.read_csv(path).drop(LEFT_OUT, strict=False)


def standardised(frame: pl.DataFrame) -> Floats:
    values = frame.to_numpy().astype(np.float64)
    scores: Floats = (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)
    return scores


def share(points: Floats, labels: NDArray[np.int64]) -> float:
    """100 SSE / SST."""
    within = 0.0
    for label in np.unique(labels):
        own = points[labels == label]
        within += float(((own - own.mean(axis=0)) ** 2).sum())
    return 100 * within / float((points**2).sum())


def measured(frame: pl.DataFrame, k: int, method: str, **options: Any) -> tuple[float, float]:
    """100 SSE / SST of a method, and its processor seconds."""
    # With the range as domain, no method treats outliers in a way of its own.
    quasi = {
        name: {
            "type": "numeric",
            "render": "mean",
            "domain": [frame[name].min(), frame[name].max()],
        }
        for name in frame.columns
    }
    table = encode(Table(frame), Schema.of(quasi=quasi))
    began = time.process_time()
    groups = METHODS[method](table, k, seed=1, **options)
    seconds = time.process_time() - began
    assert groups.smallest >= k
    return share(standardised(frame), groups.labels), seconds


# ── other packages ──────────────────────────────────────────────────────────────────────────────

ANONYPYX = peers.Anonymizer(
    "anonypyx-means", "anonypyx, MDAV-generic", "anonypyx", packages=peers.ANONYPYX
)
SDCMICRO = Path(__file__).with_name("sdcmicro.R")


def share_of_means(points: Floats, released: pl.DataFrame, k: int) -> float:
    """100 SSE / SST of released means: the variance that is not between the groups."""
    if "count" not in released:
        released = released.group_by(pl.all()).len("count")
    sizes, means = released["count"].to_numpy(), released.drop("count").to_numpy()
    assert sizes.min() >= k
    assert sizes.sum() == len(points)
    assert np.abs(sizes @ means).max() < 1e-6 * len(points)  # means keep the total, which is 0
    between = float(sizes @ (means**2).sum(axis=1))
    return 100 * (1 - between / float((points**2).sum()))


def measured_peer(frame: pl.DataFrame, k: int, peer: str, options: Any) -> tuple[float, float]:
    """100 SSE / SST of another package, and its processor seconds."""
    points = standardised(frame)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pl.DataFrame(points, schema=frame.columns).write_csv(folder / "rows.csv")
        if peer == "anonypyx":
            cpu = peers.run(ANONYPYX, folder, k, options)["cpu"]
        else:
            subprocess.run(("Rscript", SDCMICRO, folder, str(k)), check=True)
            cpu = json.loads((folder / "run.json").read_text())["cpu"]
        released = pl.read_csv(folder / "released.csv", infer_schema_length=None)
    return share_of_means(points, released, k), cpu


def present() -> list[str]:
    """The other packages that can run here."""
    try:
        subprocess.run(("Rscript", "-e", "library(sdcMicro)"), check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        print("sdcMicro is not measured: there is no Rscript that finds it\n")
        return ["anonypyx"]
    return ["anonypyx", "sdcMicro"]


# ── a lower bound for k = 3 ─────────────────────────────────────────────────────────────────────
#
# In a best grouping, no group has 6 rows or more: two halves cost less. A group of 4 or 5 costs no
# less than its triples do, each taken for a third or a sixth. So the cheapest way to cover each row
# once with shares of triples is a lower bound. This is a linear program; its triples are found by
# the prices of the rows (column generation). Prices that are lowered until no triple costs less
# than its rows give a bound at any time.

_KEEP = 8  # new triples for each row and turn


def bound(points: Floats, labels: NDArray[np.int64], seconds: float) -> float:
    """100 / SST times the best bound that is found in so many seconds."""
    apart = ((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)
    triples = _first_triples(apart, labels)
    best, end, smooth = -math.inf, time.monotonic() + seconds, None
    while True:
        prices = _prices(apart, triples)
        smooth = prices if smooth is None else 0.6 * smooth + 0.4 * prices
        before = len(triples)
        for some in (smooth, prices):
            found, lowest = _cheaper_triples(apart, some)
            value = float(some.sum() + lowest.sum() / 3)
            if value > best:
                best, smooth = value, some
            triples |= found
        if len(triples) == before or time.monotonic() > end:
            return 100 * best / float((points**2).sum())


def _first_triples(apart: Floats, labels: NDArray[np.int64]) -> set[tuple[int, int, int]]:
    """Each row with pairs of its nearest, and those in its group."""
    found = set()
    nearest = np.argsort(apart, axis=1, kind="stable")[:, 1:8]
    for row, others in enumerate(nearest.tolist()):
        own = np.flatnonzero(labels == labels[row]).tolist()
        for some in (others, [one for one in own if one != row]):
            for place, one in enumerate(some):
                for other in some[place + 1 :]:
                    first, second, third = sorted((row, one, other))
                    found.add((first, second, third))
    return found


def _prices(apart: Floats, triples: set[tuple[int, int, int]]) -> Floats:
    from scipy.optimize import linprog
    from scipy.sparse import csc_matrix

    columns = np.array(sorted(triples))
    a, b, c = columns.T
    costs = (apart[a, b] + apart[a, c] + apart[b, c]) / 3
    where = columns.ravel(), np.repeat(np.arange(len(columns)), 3)
    shape = len(apart), len(columns)
    cover = csc_matrix((np.ones(columns.size), where), shape=shape)
    solved = linprog(costs, A_eq=cover, b_eq=np.ones(len(apart)), method="highs-ds")
    prices: Floats = solved.eqlin.marginals
    return prices


def _cheaper_triples(apart: Floats, prices: Floats) -> tuple[set[tuple[int, int, int]], Floats]:
    """Triples that cost less than their rows, and for each row by how much at most (below 0).

    A triple is looked at with its dearest row. It costs at least half the squared distance of any
    two of its rows, so only rows near the dearest one can be in it.
    """
    lowest, found = np.zeros(len(apart)), set()
    order = np.argsort(-prices, kind="stable")
    for place, row in enumerate(order.tolist()):
        others = order[place + 1 :]
        near = others[apart[row, others] / 2 < 2 * prices[row] + prices[others]]
        if len(near) < 2:
            continue
        alone = apart[row, near] / 3 - prices[near]
        gains = apart[np.ix_(near, near)] / 3 + alone[:, None] + alone[None, :] - prices[row]
        np.fill_diagonal(gains, 0.0)
        least = gains.min(axis=0)
        if least.min() >= -1e-9:
            continue
        lowest[near] = np.minimum(lowest[near], least)
        lowest[row] = min(lowest[row], float(least.min()))
        for first in np.argsort(least)[:_KEEP].tolist():
            if least[first] < -1e-9:
                second = int(gains[first].argmin())
                triple = sorted((row, int(near[first]), int(near[second])))
                found.add((triple[0], triple[1], triple[2]))
    return found, np.minimum(lowest - 1e-9, 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    tables.add_data_option(parser)
    parser.add_argument("--effort", nargs="*", default=["fast", "quick", "balanced"], choices=PLANS)
    parser.add_argument("--bound", action="store_true", help="also a lower bound for k = 3")
    parser.add_argument("--seconds", type=float, default=600, help="for each bound")
    parser.add_argument("--peers", action="store_true", help="also MDAV of other packages")
    parser.add_argument("--venvs", type=Path, help="keep the environment of anonypyx here")
    parser.set_defaults(limit=600.0, memory=12.0)  # seconds and GiB of a run of another package
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        asked.venvs = asked.venvs or Path(temporary)
        print_table(asked)


def print_table(asked: argparse.Namespace) -> None:
    contenders: dict[str, Callable[[pl.DataFrame, int], tuple[float, float]]] = {
        f"{peer}, MDAV": partial(measured_peer, peer=peer, options=asked)
        for peer in (present() if asked.peers else ())
    }
    contenders["mdav"] = partial(measured, method="mdav")
    for effort in asked.effort:
        contenders[f"covey, {effort}"] = partial(
            measured, method="covey", objective="sse", effort=effort
        )
    print("100 SSE / SST for k = " + " / ".join(map(str, KS)) + ", and CPU seconds\n")
    print("| table | method | 100 SSE / SST | CPU s |\n| --- | --- | --- | --- |")
    for name, frame in casc(None if asked.data is None else Path(asked.data)):
        for label, contender in contenders.items():
            found = [contender(frame, k) for k in KS]
            shares = " / ".join(f"{one:.4g}" for one, _ in found)
            seconds = " / ".join(f"{one:.2f}" for _, one in found)
            print(f"| {name} | {label} | {shares} | {seconds} |", flush=True)
        if asked.bound and frame.height < 2_000:  # all triples of more rows take too long
            points = standardised(frame)
            quick = METHODS["covey"](
                encode(Table(frame), Schema.of(quasi=dict.fromkeys(frame.columns, "numeric"))),
                3,
                objective="sse",
                effort="quick",
            )
            least = bound(points, quick.labels, asked.seconds)
            print(f"| {name} | lower bound, k = 3 | {least:.4f} | |", flush=True)


if __name__ == "__main__":
    main()
