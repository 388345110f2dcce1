"""The covey method: valid and never worse after any step, and the same on any machine."""

import itertools
import math
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from covey import demo
from covey._core import kernels
from covey._core.arrays import Longs
from covey.clustering import METHODS
from covey.clustering.progress import STOPPED
from covey.encoding import EncodedTable, encode
from covey.encoding.groups import Groups
from covey.errors import UsageError
from covey.reference.model import total_weight
from covey.schema import Schema
from covey.schema.requirements import LDiversity
from covey.tables import Table
from examples import examples
from oracles.metrics import groups_of as groups_of_labels
from oracles.metrics import total_il
from tables_of_people import CLASS, People, people

own = METHODS["covey"]
module = sys.modules["covey.clustering.covey"]
EFFORTS = ("fast", "quick", "balanced", "best")
seeds = st.integers(0, 2**64)


def groups_of(table: EncodedTable, k: int, **options: Any) -> Groups:
    groups = own(table, k, **options)
    assert isinstance(groups, Groups)
    return groups


# ── any table ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("effort", EFFORTS)
@given(people(most=40), st.data())
@examples(60)
def test_every_row_is_in_one_group_of_k(effort: str, table: People, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, table.rows), "k")
    groups = groups_of(table.encoded(), k, seed=data.draw(seeds, "seed"), effort=effort)
    assert len(groups) == table.rows
    assert groups.suppressed == 0
    assert groups.smallest >= k


def cost_of(
    table: People, labels: list[int], k: int, penalty: float, evenness: float
) -> tuple[float, float]:
    """What groups cost by the definition, and what one more row that is left out would."""
    cost = total_il(table.oracle, labels, table.schema.loss)
    for group in groups_of_labels(labels):
        most = Counter(table.classes[row] for row in group).most_common(1)[0][1]
        cost += penalty * (len(group) - most) + evenness * len(group) * (len(group) - k) / k
    besides = penalty + evenness * (table.rows - k) / k
    left_out = sum(label < 0 for label in labels)
    return cost + left_out * besides, total_weight(table.oracle) + besides


@given(people(most=30), st.data())
@examples(200)
def test_every_round_keeps_groups_legal_and_lowers_the_cost_unless_heated(
    table: People, data: st.DataObject
) -> None:
    """The cost that is carried along is the cost of the rows, by the oracle."""
    k, seed = data.draw(st.integers(1, table.rows), "k"), data.draw(seeds, "seed")
    penalty = data.draw(st.sampled_from([0.0, 0.3, 5.0]), "penalty")
    evenness = data.draw(st.sampled_from([0.0, 0.2]), "evenness")
    work = module._Work(
        table.encoded(classes=True), k, seed, penalty, evenness, data.draw(st.sampled_from([0, 1]))
    )
    block, random = work.block(np.arange(table.rows)), np.random.default_rng(seed)
    step = data.draw(st.sampled_from(["sweep", "refine"]), "step")
    heat = data.draw(st.sampled_from([0.0, 0.0, 2.0]), "heat")
    gathers = data.draw(st.booleans(), "gathers")
    block.grow(random, kernels.Watch())
    before = np.inf
    for _ in range(4):
        labels = block.labels
        cost, price = cost_of(table, labels.tolist(), k, penalty, evenness)
        assert block.cost == pytest.approx(cost, rel=1e-9, abs=1e-9)
        assert block.cost <= before + 1e-9 or (heat and step == "refine")
        assert work.true_price in (pytest.approx(price), np.inf)
        assert is_legal(labels, table.rows, k)
        assert work.limit or labels.min() >= 0
        assert taken_over(work, labels).cost == pytest.approx(cost, rel=1e-9, abs=1e-9)
        before = block.cost
        if step == "sweep":
            block.sweep(work.price, kernels.Watch())
        else:
            block.refine(work.price, 2, 3, 2, heat, gathers, random, kernels.Watch())


def taken_over(work: Any, labels: Longs) -> kernels.Block:
    """A new block of all rows, in these groups."""
    block: kernels.Block = work.block(np.arange(len(labels)))
    block.load(labels)
    assert block.labels.tolist() == labels.tolist()
    return block


def is_legal(labels: Longs, rows: int, k: int) -> bool:
    """Whether each of at most n / k groups has k rows."""
    sizes = Counter(labels[labels >= 0].tolist())
    return len(labels) == rows and min(sizes.values()) >= k and max(sizes) < rows // k


@given(people(least=4, most=30), st.data())
@examples(100)
def test_rows_return_at_the_cost_that_was_offered(table: People, data: st.DataObject) -> None:
    """Each to the group that it costs least, by the definition; and others stay where they are."""
    k, seed = data.draw(st.integers(1, table.rows // 2), "k"), data.draw(seeds, "seed")
    evenness = data.draw(st.sampled_from([0.0, 0.2]), "evenness")
    work = module._Work(table.encoded(), k, seed, 0.0, evenness, 0.99)
    grown = work.block(np.arange(table.rows))
    grown.grow(np.random.default_rng(seed), kernels.Watch())
    labels = grown.labels
    sizes = Counter(labels.tolist())
    (large,) = (group for group, size in sizes.most_common(1))
    out = (
        np.flatnonzero(labels == large)[k:] if sizes[large] > k else np.flatnonzero(labels == large)
    )
    if len(out) == table.rows:
        return
    labels[out] = -1
    block = taken_over(work, labels)
    offers = block.offers()
    assert len(offers) == len(out)
    now = cost_of(table, labels.tolist(), k, 0.0, evenness)
    for row, offer in zip(out.tolist(), offers.tolist(), strict=True):
        costs = []
        for group in {*labels.tolist()} - {-1}:
            joined = labels.copy()
            joined[row] = group
            costs.append(cost_of(table, joined.tolist(), k, 0.0, evenness)[0])
        assert offer == pytest.approx(min(costs) - now[0] + work.true_price, rel=1e-9, abs=1e-9)
    returning = np.zeros(table.rows, dtype=np.bool_)
    returning[out[0]] = True
    returning[labels >= 0] = data.draw(st.booleans(), "flags of others")
    block.settle(returning)
    assert block.cost == pytest.approx(now[0] - work.true_price + offers[0], rel=1e-9, abs=1e-9)
    changed = np.flatnonzero(block.labels != labels)
    assert changed.tolist() == [out[0]]


@pytest.mark.parametrize("effort", EFFORTS)
@given(people(most=40), st.data())
@examples(25)
def test_no_more_rows_are_left_out_than_allowed_and_only_where_it_pays(
    effort: str, table: People, data: st.DataObject
) -> None:
    k = data.draw(st.integers(2, max(2, table.rows // 3)), "k")
    share = data.draw(st.sampled_from([0.0, 0.04, 0.1, 0.3, 0.99]), "share")
    seed = data.draw(seeds, "seed")
    if table.rows < k:
        return
    work = module._Work(table.encoded(), k, seed, 0.0, 0.0, share)
    groups = groups_of(table.encoded(), k, seed=seed, effort=effort, max_suppressed=share)
    assert groups.suppressed <= share * table.rows + 1e-9
    assert groups.smallest >= k
    with ThreadPoolExecutor(1) as threads:
        work.start(threads, module.PLANS[effort])
    loss = total_il(table.oracle, groups.labels.tolist(), table.schema.loss)
    assert loss <= work.cost + 1e-9


def test_an_outlier_is_left_out() -> None:
    """Fifty neighbours and one who lives far away: with him, one of two groups covers all."""
    table = column([float(i % 5) for i in range(50)] + [10_000.0])
    loss = {
        share: _loss(table, groups_of(table, 25, max_suppressed=share)) for share in (0.0, 0.02)
    }
    assert groups_of(table, 25, max_suppressed=0.02).labels[50] == -1
    assert loss[0.02] < 0.1 * loss[0.0]


def test_classes_stay_apart_where_that_costs_little() -> None:
    """Two classes in one crowd of numbers; the penalty parts them, and 0 does not."""
    frame = pl.DataFrame({"x": [i // 2 for i in range(200)], "c": ["a", "b"] * 100})
    schema = Schema.of(quasi={"x": "numeric"}, insensitive=["c"])
    table = encode(Table(frame), schema, class_column="c")
    for effort in EFFORTS[:3]:
        mixed, apart = (
            _minorities(frame["c"].to_list(), groups_of(table, 5, effort=effort, penalty=penalty))
            for penalty in (0, 1)
        )
        assert apart < 0.2 * mixed


def _minorities(classes: list[str], groups: Groups) -> int:
    counts: dict[int, Counter[str]] = {}
    for label, kind in zip(groups.labels.tolist(), classes, strict=True):
        counts.setdefault(label, Counter())[kind] += 1
    return sum(count.total() - count.most_common(1)[0][1] for count in counts.values())


def test_sizes_are_kept_even_where_that_is_preferred() -> None:
    table = encode(Table(demo.people(400)), demo.schema())
    squares = [
        int((groups_of(table, 5, evenness=evenness).sizes ** 2).sum()) for evenness in (0.0, 2.0)
    ]
    assert 5 * 400 <= squares[1] < 1.03 * 5 * 400 < squares[0]


# ── odd tables ──────────────────────────────────────────────────────────────────────────────────


def column(values: Any, kind: str = "numeric") -> EncodedTable:
    return encode(Table(pl.DataFrame({"x": values})), Schema.of(quasi={"x": kind}))


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize(
    ("table", "k"),
    [
        (column([5] * 300), 7),
        (column(list(range(300))), 300),
        (column(list(range(13))), 7),
        (column([f"v{i}" for i in range(600)], "categorical"), 4),
        (column([f"v{i}" for i in range(10_000)], "categorical"), 7),
        (column(["a"] * 500 + list("bcdefgh"), "categorical"), 5),
        (column([None] * 30 + [1.0] * 3), 4),
    ],
    ids=["alike", "k = n", "2k - 1", "600 values", "10,000 values", "giant block", "missing"],
)
def test_odd_tables(
    table: EncodedTable, k: int, effort: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = replace(module.PLANS["best"], rounds=5, longer=1.0)  # small tables would get 1,000
    monkeypatch.setitem(module.PLANS, "best", best)
    assert groups_of(table, k, effort=effort).smallest >= k


def test_equal_rows_stay_together_free_of_loss() -> None:
    table = column(["a"] * 50 + ["b"] * 50 + ["c"] * 50, "categorical")
    groups = groups_of(table, 20)
    leaves = table.categories[0].leaves
    assert all(len({*leaves[groups.labels == g]}) == 1 for g in range(groups.count))


# ── the same everywhere ─────────────────────────────────────────────────────────────────────────


def test_more_effort_loses_less() -> None:
    """How much the best effort gains is measured in benchmarks/optimum.py."""
    table = encode(Table(demo.people(600)), demo.schema())
    losses = [_loss(table, groups_of(table, 5, effort=effort)) for effort in EFFORTS[:3]]
    assert losses[0] > losses[1] > losses[2]
    assert losses[2] < 0.95 * _loss(table, METHODS["k-member"](table, 5))


def _loss(table: EncodedTable, groups: Any) -> float:
    return taken_over(module._Work(table, 1, 0, max_suppressed=0.99), groups.labels).cost


@pytest.mark.parametrize("effort", ["fast", "balanced", "best"])
def test_the_number_of_threads_does_not_matter(
    effort: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = encode(Table(demo.people(2_000)), demo.schema())
    labels = []
    for threads in (1, 3):
        monkeypatch.setattr(module, "workers", lambda threads=threads: threads)
        monkeypatch.setitem(
            module.PLANS,
            effort,
            replace(module.PLANS[effort], rounds=2, block=400),
        )
        labels.append(groups_of(table, 4, effort=effort).labels.tolist())
    assert labels[0] == labels[1]


@pytest.mark.parametrize("k", [10, 50])
def test_groups_that_gather_rows_of_a_whole_block_lower_the_loss(k: int) -> None:
    """From the same groups, which no sweep improves any more."""
    table = encode(Table(demo.people(3_000)), demo.schema())
    work = module._Work(table, k, 0)
    block, costs = work.block(np.arange(3_000)), []
    block.grow(np.random.default_rng(1), kernels.Watch())
    for gathers in (False, False, False, True):
        block.refine(np.inf, 1, 0, 0, 0.0, gathers, np.random.default_rng(1), kernels.Watch())
        costs.append(block.cost)
    assert costs[3] < costs[2] - 2 * (costs[1] - costs[2])


def are_mixed(table: People, labels: Longs) -> bool:
    """Whether no class is in more than half of the rows of a group."""
    return all(
        2 * max(Counter(table.classes[row] for row in group).values()) <= len(group)
        for group in groups_of_labels(labels.tolist())
    )


@given(people(least=4, most=30), st.data())
@examples(100)
def test_repaired_groups_meet_the_constraint(table: People, data: st.DataObject) -> None:
    """From any groups of k: here of random rows, one of them perhaps very large."""
    assume(are_mixed(table, np.zeros(table.rows, dtype=np.int64)))
    k = data.draw(st.integers(1, table.rows // 2), "k")
    asked = [LDiversity(2, on=CLASS, kind="frequency")]
    work = module._Work(encode(table.table, table.schema, require=asked), k, 0)
    work.marks = work._marks(work.table.constraints)
    number = data.draw(st.sampled_from([2, table.rows // k]), "groups")
    labels = np.empty(table.rows, dtype=np.int64)
    order = data.draw(st.permutations(range(table.rows)), "order")
    labels[order] = np.minimum(np.arange(table.rows) // k, number - 1)
    block = taken_over(work, labels)
    block.repair(kernels.Watch())
    repaired = block.labels
    assert is_legal(repaired, table.rows, k)
    assert repaired.min() >= 0
    assert are_mixed(table, repaired)
    cost, _ = cost_of(table, repaired.tolist(), k, 0.0, 0.0)
    assert block.cost == pytest.approx(cost, rel=1e-9, abs=1e-9)
    assert (repaired == labels).all() or not are_mixed(table, labels)
    block.refine(np.inf, 2, 3, 2, 0.5, True, np.random.default_rng(k), kernels.Watch())
    assert is_legal(block.labels, table.rows, k)
    assert are_mixed(table, block.labels)
    assert taken_over(work, block.labels).cost == pytest.approx(block.cost, rel=1e-9, abs=1e-9)


# ── stopping early ──────────────────────────────────────────────────────────────────────────────


def test_an_interruption_keeps_what_there_is() -> None:
    table = encode(Table(demo.people(400)), demo.schema())
    told: list[str] = []

    def interrupt(stage: str, done: float) -> None:
        told.append(stage)
        if done > 0.2 and STOPPED not in told:
            raise KeyboardInterrupt

    groups = groups_of(table, 5, progress=interrupt)
    assert groups.smallest >= 5
    assert STOPPED in told


def test_a_stopped_round_leaves_legal_groups() -> None:
    """Before it begins, and wherever the timer finds it."""
    table = encode(Table(demo.people(3_000)), demo.schema())
    work = module._Work(table, 5, 0)
    block = work.block(np.arange(3_000))
    block.grow(np.random.default_rng(1), kernels.Watch())
    before, labels = block.cost, block.labels.tolist()
    stopped = kernels.Watch()
    stopped.stop()
    block.refine(work.price, 3, 6, 4, 0.0, True, np.random.default_rng(2), stopped)
    assert (block.labels.tolist(), block.cost) == (labels, before)
    for seconds in (0.01, 0.05):
        watch = kernels.Watch()
        timer = threading.Timer(seconds, watch.stop)
        timer.start()
        block.refine(work.price, 3, 6, 4, 0.0, True, np.random.default_rng(2), watch)
        timer.cancel()
        assert is_legal(block.labels, 3_000, 5)
        assert block.cost <= before
        assert taken_over(work, block.labels).cost == pytest.approx(block.cost)
        before = block.cost


def test_an_interruption_before_there_are_groups_ends_it() -> None:
    table = encode(Table(demo.people(400)), demo.schema())

    def interrupt(stage: str, done: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        own(table, 5, progress=interrupt)


def test_a_budget_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As good as no time at all: the groups are those that were grown."""
    table = encode(Table(demo.people(400)), demo.schema())
    in_time = groups_of(table, 5, budget=1e-9).labels.tolist()
    balanced = groups_of(table, 5, effort="balanced").labels.tolist()
    assert groups_of(table, 5, budget=1e9, effort="balanced").labels.tolist() == balanced
    monkeypatch.setitem(module.PLANS, "fast", replace(module.PLANS["best"], rounds=0))
    assert in_time == groups_of(table, 5, effort="fast").labels.tolist() != balanced


def test_a_budget_is_used_until_the_time_is_up() -> None:
    table = encode(Table(demo.people(400)), demo.schema())
    shares: list[float] = []
    began = time.monotonic()
    groups_of(table, 5, budget=0.5, progress=lambda _, done: shares.append(done))
    assert time.monotonic() - began >= 0.5
    assert shares == sorted(shares)
    assert len(shares) > 2


def test_requirements_get_more_tries_and_in_large_tables_fewer_rounds() -> None:
    balanced, fast = module.PLANS["balanced"], module.PLANS["fast"]
    plans = [balanced.for_table(rows, 1).constrained for rows in (50_000, 100_000, 400_000)]
    assert [plan.rounds for plan in plans] == [14, 6, 3]
    assert [plan.tries for plan in plans] == [4, 2, 2]
    assert [plan.heat > 0 for plan in plans] == [True, False, False]
    assert fast.for_table(10**6, 1).constrained.rounds == 1
    timed = replace(balanced.for_table(100_000, 1), rounds=math.inf)
    assert math.isinf(timed.constrained.rounds)
    assert timed.constrained.heat > 0


@pytest.mark.parametrize("heat", [0.0, 0.5])
def test_a_round_that_the_time_cuts_short_leaves_the_other_groups(
    heat: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the blocks of a round, only every other one has begun."""
    table = encode(Table(demo.people(2_000)), demo.schema())
    work = module._Work(table, 3, 0)
    monkeypatch.setattr(module, "_SMALLEST_BLOCK", 8)
    plan = module.Plan(rounds=9, gain=0.0, tries=1, block=300, heat=heat)
    over = itertools.cycle([False, True])
    monkeypatch.setattr(module.Schedule, "is_over", property(lambda _: next(over)))
    schedule = module.Schedule(plan, 0.0, np.inf)
    with ThreadPoolExecutor(1) as threads:
        work.start(threads, plan)
        for number in range(6):
            work.refine(threads, schedule, number, heat)
            assert taken_over(work, module._numbered(work.labels)).cost == pytest.approx(work.cost)


def test_a_budget_is_not_used_for_groups_that_cost_nothing() -> None:
    assert groups_of(column(["a"] * 20 + ["b"] * 20, "categorical"), 5, budget=1e9).smallest >= 5


@given(people(least=4, most=30), st.data())
@examples(25)
def test_heat_never_ends_with_more_loss_than_there_was(table: People, data: st.DataObject) -> None:
    """The plan is so hot that most rounds end worse than they began."""
    k, seed = data.draw(st.integers(1, table.rows // 2), "k"), data.draw(seeds, "seed")
    share = data.draw(st.sampled_from([0.0, 0.3]), "share")
    work = module._Work(table.encoded(), k, seed, max_suppressed=share)
    plan = module.Plan(rounds=3, gain=0.0, tries=1, heat=50.0)
    with ThreadPoolExecutor(1) as threads:
        work.start(threads, plan)
        before = work.cost
        module._rounds(work, threads, plan, np.inf)
    labels = work.labels.tolist()
    assert work.cost <= before
    assert work.cost == pytest.approx(
        total_il(table.oracle, labels, table.schema.loss), rel=1e-9, abs=1e-9
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"effort": "lazy"}, "fast, quick, balanced, best"),
        ({"budget": 0}, "'budget' must be a number above 0"),
        ({"budget": "soon"}, "'budget' must be"),
        ({"penalty": -1}, "'penalty' must be a number 0 or more"),
        ({"penalty": float("inf")}, "'penalty' must be"),
        ({"evenness": -0.1}, "'evenness' must be"),
        ({"max_suppressed": 1}, "'max_suppressed' must be a number from 0 to below 1"),
        ({"max_suppressed": -0.1}, "'max_suppressed' must be"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        own(column([1, 2, 3]), 2, **options)
