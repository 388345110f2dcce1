"""The papers' worked examples, and figures that others report, computed by covey's methods."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from covey.clustering import METHODS
from covey.clustering.kacpc import pair_distances
from covey.encoding import EncodedTable, encode
from covey.schema import Schema
from covey.schema.taxonomy import Taxonomy, build
from covey.tables import Table


def numbers(columns: dict[str, list[float]]) -> EncodedTable:
    return encode(Table(pl.DataFrame(columns)), Schema.of(quasi=dict.fromkeys(columns, "numeric")))


# ── Wang et al. 2022 ────────────────────────────────────────────────────────────────────────────

WORKCLASS = build(
    {
        "Private": "*",
        "Self-emp-inc": "Self-emp",
        "Self-emp-not-inc": "Self-emp",
        "Self-emp": "*",
        "Federal-gov": "Gov",
        "Local-gov": "Gov",
        "State-gov": "Gov",
        "Gov": "*",
        "Without-pay": "*",
    }
)


def dist_c(tree: Taxonomy, one: str, other: str, *, normalise: bool = False) -> float:
    a, b = tree.node_of[one], tree.node_of[other]
    above = tree.lowest_common_ancestor([a, b])
    pairs = pair_distances(tree, normalise=normalise)
    return float(pairs[above, tree.depth[a], tree.depth[b]])


def test_distances_in_the_tree_of_work_classes() -> None:
    """The two distances that the paper works out."""
    assert dist_c(WORKCLASS, "Private", "Local-gov") == pytest.approx(18)
    assert dist_c(WORKCLASS, "State-gov", "Local-gov") == pytest.approx(0.4628, abs=5e-5)


def test_the_widest_distance_is_one_once_normalised() -> None:
    assert dist_c(WORKCLASS, "Self-emp-inc", "Local-gov", normalise=True) == 1.0
    assert dist_c(WORKCLASS, "Private", "Local-gov", normalise=True) == pytest.approx(18 / 36)


@pytest.mark.parametrize(("height", "distance"), [(2, 4), (3, 36), (4, 144)])
def test_tall_trees_are_wide(height: int, distance: float) -> None:
    """Two leaves that only the root has in common, in trees of two such branches."""
    links: dict[str, str] = {}
    for branch in "ab":
        path = ["*", *(f"{branch}{level}" for level in range(1, height))]
        links |= {child: parent for parent, child in pairwise(path)}
    ends = [f"{branch}{height - 1}" for branch in "ab"]
    assert dist_c(build(links), *ends) == pytest.approx(distance)


# ── MDAV on tables of numbers ───────────────────────────────────────────────────────────────────


def lost_variance(frame: pl.DataFrame, labels: Sequence[int]) -> float:
    """In per cent, of all that the columns have."""
    values = frame.to_numpy()
    scores = (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)
    groups = [scores[np.array(labels) == group] for group in set(labels)]
    lost = sum(float(((group - group.mean(axis=0)) ** 2).sum()) for group in groups)
    return 100 * lost / float((scores**2).sum())


def table_of(frame: pl.DataFrame) -> EncodedTable:
    return numbers({column: frame[column].to_list() for column in frame.columns})


# Lost variance in per cent at k = 3, 5, 10; at k = 3 the literature has 5.692, 16.932, 0.483.
CASC = {
    "CASCrefmicrodata": (5.692186, 9.088435, 14.155930),
    "Tarragona": (16.932588, 22.461860, 33.192885),
    "EIA": (0.482939, 1.666675, 3.839670),
}


def casc(folder: Path, name: str) -> pl.DataFrame:
    frame = pl.read_csv(folder / f"{name}.csv", infer_schema_length=None)
    if name == "EIA":
        ends = ("REVENUE", "SALES")
        kept = [c for c in frame.columns if c == "UTILITYID" or c.endswith(ends)]
        assert len(kept) == 11
        frame = frame.select(kept)
    return frame.cast(pl.Float64)


@pytest.mark.parametrize("name", CASC)
def test_mdav_loses_what_is_reported(name: str, shared_data: Path) -> None:
    frame = casc(shared_data / "casc", name)
    for k, reported in zip((3, 5, 10), CASC[name], strict=True):
        labels = METHODS["mdav"](table_of(frame), k).labels.tolist()
        assert lost_variance(frame, labels) == pytest.approx(reported, abs=1e-6)
        assert min(Counter(labels).values()) >= k
