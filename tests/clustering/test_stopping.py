"""Methods that run in one call of compiled code say how far they are, and can be stopped."""

import time
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from covey import demo
from covey._core import kernels
from covey.clustering import METHODS
from covey.clustering.progress import watched
from covey.encoding import EncodedTable, encode
from covey.tables import Table

methods = pytest.mark.parametrize("name", [name for name in METHODS if name != "covey"])


@pytest.fixture(scope="module")
def table() -> EncodedTable:
    return encode(Table(demo.people(2_000)), demo.schema())


@methods
def test_progress_is_reported_and_changes_nothing(
    name: str, table: EncodedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = METHODS[name](table, 10, seed=4).labels
    watch = kernels.Watch()
    monkeypatch.setattr(kernels, "Watch", lambda: watch)
    monkeypatch.setattr("covey.clustering.progress._SECONDS_BETWEEN_REPORTS", 0.0)
    reports: list[tuple[str, float]] = []
    watched = METHODS[name](table, 10, seed=4, progress=lambda *share: reports.append(share))
    assert np.array_equal(watched.labels, labels)
    assert watch.done == 1.0  # by the kernel's count
    stages, shares = zip(*reports, strict=True)
    assert set(stages) == {"clustering"}
    assert shares[-1] == 1.0
    assert all(0.0 <= before <= after for before, after in pairwise(shares))


@methods
def test_an_error_of_the_listener_ends_a_method(
    name: str, table: EncodedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("covey.clustering.progress._SECONDS_BETWEEN_REPORTS", 0.0)

    def interrupt(_stage: str, _share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        METHODS[name](table, 10, progress=interrupt)


def stopped(monkeypatch: pytest.MonkeyPatch) -> kernels.Watch:
    """The watch of all methods from now on: it has been stopped before they start."""
    watch = kernels.Watch()
    watch.stop()
    monkeypatch.setattr(kernels, "Watch", lambda: watch)
    return watch


@methods
def test_a_kernel_looks_whether_it_is_to_stop(
    name: str, table: EncodedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = stopped(monkeypatch)
    with pytest.raises(kernels.Stopped):
        METHODS[name](table, 10)
    assert watch.done < 0.1


@pytest.mark.parametrize(
    ("name", "k", "options"),
    [
        ("mondrian", 1_000, {}),
        ("cb", 1_000, {}),
        ("nh", 1_000, {}),
        ("nh", 1_400, {}),  # nothing is split: what is stopped is the tour
        ("cb", 1_400, {"l": 2, "sensitive": "income"}),  # or the dealing
    ],
)
def test_a_kernel_stops_before_the_first_group_is_formed(
    name: str,
    k: int,
    options: dict[str, Any],
    table: EncodedTable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watch = stopped(monkeypatch)
    with pytest.raises(kernels.Stopped):
        METHODS[name](table, k, **options)
    assert watch.done == 0.0


@pytest.mark.parametrize("name", ["kaca", "mdav", "oka", "wf-c-means"])
def test_a_kernel_stops_within_a_group(
    name: str, table: EncodedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = stopped(monkeypatch)
    with pytest.raises(kernels.Stopped):
        METHODS[name](table, 700)
    assert watch.done < 0.001


def test_an_interrupt_leaves_what_a_kernel_can_still_give() -> None:
    def work(watch: kernels.Watch) -> str:
        while not watch.stopped:
            time.sleep(0.001)
        return "coarse"

    def interrupt(stage: str, done: float) -> None:
        raise KeyboardInterrupt

    assert watched(work, interrupt, keeps_result=True) == "coarse"
    with pytest.raises(KeyboardInterrupt):
        watched(work, interrupt)
