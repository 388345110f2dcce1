"""The covey method: grow groups, then re-form neighbouring groups while that lowers the loss.

All work is done in blocks of similar rows, in parallel, so that the time is proportional to the
number of rows. Each round divides the table into different blocks.
"""

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from typing import TypeVar, get_args

import numpy as np

from covey._core import kernels
from covey._core.arrays import Cells, Floats, Forest, Longs
from covey.clustering import discernibility, microaggregation
from covey.clustering.blocks import large_enough, tiles, workers
from covey.clustering.efforts import PLANS, Effort, Plan, Schedule
from covey.clustering.objectives import LOSS, Aims, Objective
from covey.clustering.progress import STOPPED, Progress, silent, watched, with_loss
from covey.encoding import EncodedTable
from covey.encoding.constraints import Constraints, no_rules
from covey.encoding.groups import SUPPRESSED, Groups
from covey.errors import UsageError

T = TypeVar("T")

_SMALLEST_BLOCK = 128  # groups in a block in which they are refined
_MOST_REPAIRED = 0.5  # share of groups up to which repair alone costs little
_LEAST_GAIN = 1e-9  # less is rounding: it decides nothing


def covey(  # noqa: PLR0913 - the options of the method
    table: EncodedTable,
    k: int,
    *,
    seed: int = 0,
    effort: Effort | None = None,
    budget: float | None = None,
    objective: Aims | None = None,
    penalty: float = 1.0,
    evenness: float = 0.0,
    max_suppressed: float = 0.0,
    reserve: int = 0,
    progress: Progress = silent,
) -> Groups:
    """Within blocks of similar rows, groups grow from random rows: each takes the k - 1 free rows
    that add least information loss. Rounds of refinement follow. A group is dissolved if its rows
    cost less elsewhere. Rows of groups with more than `k` rows move to where they cost less. If `k`
    is large, new groups gather rows that agree in most attributes from many groups. Each group is
    re-formed together with its nearest groups several times, and the cheapest result is kept;
    groups around them may take in some of the rows. Groups of identical or similar rows may so grow
    beyond 2k - 1 rows, and there may be fewer than n/k groups: this is where most of the gain comes
    from.

    `effort` sets the amount of work: `fast` re-forms groups once, where they grew; `quick` does two
    rounds; `balanced`, the default, does 14, more in a small table and fewer in a large one; `best`
    does many. The last two at first also accept groups that cost a little more, to find their way
    to better ones (simulated annealing). A `budget` in seconds without an `effort` works as `best`
    until the time is up; with an `effort`, it only stops it earlier. The result then depends on the
    speed of the machine. If refinement is interrupted, the best groups so far are returned.

    `objective` says what the groups are formed for: "loss", "sse", "discernibility",
    "classification" or "uses", or several with their weights. By default it is the loss, with the
    `penalty` and the `evenness` below. For "sse", see `microaggregation`; no row is then
    suppressed. For "uses", columns that declared uses need weigh more in the loss.

    If the table has classes, each row outside its group's most frequent class costs `penalty` units
    of loss. With `evenness` above 0, groups stay close to k: a row in a group of 2k costs that many
    units, a row in a group of 3k twice as many. `max_suppressed` is the largest share of rows that
    may be suppressed. A row is suppressed if it costs more in a group than as a total loss.

    If the table has `atoms`, their rows stay together: an atom moves as one, and its group needs no
    other rows if it has `k` itself. Groups of other rows have `k + reserve` or more.
    Time near-linear in n, memory O(n).
    """
    if effort not in (None, *get_args(Effort)):
        raise UsageError(f"effort must be one of {', '.join(get_args(Effort))}")
    _refuse_unless(budget is None or _is_number(budget, above=0.0), "budget", "above 0")
    _refuse_unless(_is_number(penalty), "penalty", "0 or more")
    _refuse_unless(_is_number(evenness), "evenness", "0 or more")
    _refuse_unless(
        _is_number(max_suppressed) and max_suppressed < 1, "max_suppressed", "from 0 to below 1"
    )
    _refuse_unless(type(reserve) is int and reserve >= 0, "reserve", "0 or more, and whole")
    end = math.inf if budget is None else time.monotonic() + budget
    is_timed = effort is None and budget is not None
    effort = effort or ("balanced" if budget is None else "best")
    enough, k = k, min(k + reserve, table.rows)
    plan = PLANS[effort].for_table(table.rows, k)
    if is_timed:
        plan = replace(plan, rounds=math.inf)
    aim = LOSS if objective is None else Objective.of(objective)
    if table.atoms is not None and (max_suppressed or aim.sse or aim.is_discernibility):
        raise UsageError(
            "rows that stay together are only for the loss and classification, and without "
            "max_suppressed"
        )
    if objective is not None:
        if aim.sse:
            squares = microaggregation.PLANS[effort]
            groups = microaggregation.microaggregated(
                table, k, seed=seed, plan=squares, end=end, progress=progress
            )
            if table.constraints is None:
                return groups
            return keep_constraints(table, k, groups, seed=seed, progress=progress)
        penalty, evenness = aim.penalty, aim.evenness
    table = aim.weighed(table)
    work = _Work(table, k, seed, penalty, evenness, max_suppressed, progress, enough)
    plan = plan.with_rounds if work.allowed else plan
    with ThreadPoolExecutor(workers()) as threads:
        work.start(threads, plan)
        if table.constraints is None:
            _rounds(work, threads, plan, end)
        else:
            _form_constrained(work, threads, plan, end)
    progress("clustering", 1.0)
    groups = work.groups
    if not aim.is_discernibility or groups.suppressed:
        return groups
    return refined(table, k, groups, objective=aim, seed=seed)


def _form_constrained(work: "_Work", threads: ThreadPoolExecutor, plan: Plan, end: float) -> None:
    """Form groups that meet the constraints.

    Where few groups for k alone miss them, all rounds are for k alone, and only these groups are
    repaired: the others do not depend on sensitive values then.
    """
    going_on = _rounds(work, threads, plan.first, (time.monotonic() + end) / 2)
    before, cost = work.labels.copy(), work.cost
    own = work.own_rows
    if not (work.comply() and going_on):
        return
    if work.allowed or not work.points or _changed(before[own], work.labels[own]) > _MOST_REPAIRED:
        _rounds(work, threads, plan.constrained, end)
        return
    work.start_again(before, cost)
    _rounds(work, threads, plan.with_rounds, end)
    work.comply()


def _changed(before: Longs, after: Longs) -> float:
    """The share of groups that are no longer the same."""
    pairs, rows = np.unique(np.stack([before, after]), axis=1, return_counts=True)
    was, now = np.bincount(before), np.bincount(after)
    same = np.count_nonzero((rows == was[pairs[0]]) & (rows == now[pairs[1]]))
    return 1 - same / np.count_nonzero(was)


def keep_constraints(
    table: EncodedTable, k: int, groups: Groups, *, seed: int = 0, progress: Progress = silent
) -> Groups:
    """Repair the groups of any method that miss the table's constraints.

    Each such group takes rows from others, usually in exchange for its own, or merges with another
    group, whichever is cheaper per unit of violation removed.
    """
    work = _Work(table, k, seed, progress=progress)
    work.take_over(groups)
    return work.groups


def refined(
    table: EncodedTable,
    k: int,
    groups: Groups,
    *,
    objective: Objective = LOSS,
    seed: int = 0,
    progress: Progress = silent,
) -> Groups:
    """Refine the groups of any method as the covey method does, while that lowers the objective."""
    weights = objective.penalty, objective.evenness
    table = objective.weighed(table)
    work = _Work(table, k, seed, *weights, progress=progress)
    plan = PLANS["balanced"].for_table(table.rows, k)
    finished = work.take_over(groups)
    before = work.groups
    if not finished:
        return before
    if objective.sse:
        return _with_smaller_squares(table, k, before, seed, progress)
    even = objective.is_discernibility and table.constraints is None
    if even:
        work.take_over(discernibility.evened(table, before, k))
        plan = replace(plan, heat=0.0)  # which would cost some of the groups
    with ThreadPoolExecutor(workers()) as threads:
        _rounds(work, threads, plan, math.inf)
    found = work.groups
    if even:
        found = discernibility.apart(table, found, seed)
    # The loss that only decides between equals must not outweigh what was asked for.
    worse = not objective.loss and objective.cost(table, found) > objective.cost(table, before)
    return before if worse else found


def _with_smaller_squares(
    table: EncodedTable, k: int, groups: Groups, seed: int, progress: Progress
) -> Groups:
    """The groups with smaller sums of squares, which meet the constraints, too."""
    found = microaggregation.microaggregated(table, k, seed=seed, start=groups, progress=progress)
    if table.constraints is not None:
        found = keep_constraints(table, k, found, seed=seed, progress=progress)
    squares = microaggregation.sum_of_squares
    better = squares(table, found) < squares(table, groups)
    return found if better else groups


def _rounds(work: "_Work", threads: ThreadPoolExecutor, plan: Plan, end: float) -> bool:
    """Refine while that pays, and keep the best groups; if interrupted, say so and return False."""
    schedule = Schedule(plan, time.monotonic(), end)
    best, cost, finished = work.labels.copy(), work.cost, True
    try:
        for number in count():
            done = schedule.done(number)
            if work.cost == 0.0 or done >= 1.0 or schedule.is_over:
                break
            before, heat = work.cost, plan.cooled(done)
            counted = work.refine(threads, schedule, number, heat)
            if work.cost <= cost + _LEAST_GAIN:
                best, cost = work.labels.copy(), work.cost
            little = counted and before - work.cost < plan.gain * before
            if little and heat == 0.0 and not schedule.is_timed:
                break
    except KeyboardInterrupt:
        work.progress(STOPPED, 1.0)
        finished = False
    if cost + _LEAST_GAIN < work.cost:
        work.labels, work.cost = best, cost
    return finished


def _is_number(value: object, above: float | None = None) -> bool:
    if not isinstance(value, int | float) or not math.isfinite(value):
        return False
    return value >= 0 if above is None else value > above


def _refuse_unless(fine: bool, name: str, wanted: str) -> None:
    if not fine:
        raise UsageError(f"the method's option {name!r} must be a number {wanted}")


def _numbered(labels: Longs) -> Longs:
    """Renumber the labels as 0, 1, 2 …; -1 remains."""
    known, numbered = np.unique(labels, return_inverse=True)
    return numbered - int(known[0] < 0)


class _Work:
    """A table, data shared by its blocks, and the groups so far.

    A group is labelled by its lowest row, so blocks need no communication: no label occurs in two
    blocks, even if the time is up before some blocks of a round have begun.
    """

    def __init__(  # noqa: PLR0913 - the options of the method
        self,
        table: EncodedTable,
        k: int,
        seed: int,
        penalty: float = 0.0,
        evenness: float = 0.0,
        max_suppressed: float = 0.0,
        progress: Progress = silent,
        enough: int | None = None,
    ) -> None:
        self.table, self.k, self.seed, self.progress = table, k, seed, progress
        self.enough = enough or k  # rows with which an atom may be a group by itself
        self.first = _first_rows(table)
        self.own_rows = np.flatnonzero(self.first == np.arange(table.rows))
        self.space, self.watch = kernels.Space(table.core), kernels.Watch()
        self.labels = np.zeros(table.rows, dtype=np.int64)
        self.cost = 0.0
        self.penalty = 0.0 if table.classes is None else float(penalty)
        self.evenness = float(evenness)
        # In every metric a suppressed row counts as a total loss: as if it had no class and were
        # in one group with all rows.
        self.lost = float(table.weights.sum()) + self.penalty + evenness * (table.rows - k) / k
        # Until `comply`, only k is required, and no row is suppressed that constraints may need.
        self.allowed = int(max_suppressed * table.rows + 1e-9)
        self._permit(self.allowed if table.constraints is None else 0)
        self.marks = self._marks(None)
        self.points = table.constraints is not None and table.constraints.are_sensitive
        self.stages = 1 if table.constraints is None else 2
        self.stage = 0
        self.round = 0

    def _permit(self, limit: int) -> None:
        """Set how many rows may be suppressed, at which price in the sum of costs and in rounds."""
        self.limit, self.true_price = limit, self.lost if limit else math.inf
        self.price = self.true_price

    def _marks(self, constraints: Constraints | None) -> kernels.Marks | None:
        """The rows' classes and constrained values; None if neither matters."""
        if constraints is None and self.penalty == 0.0 and self.table.atoms is None:
            return None
        classes = self.table.classes if self.penalty > 0.0 else None
        values = np.zeros((self.table.rows, 0), dtype=np.int32)
        rules, sorts = no_rules(), np.zeros(self.table.rows, dtype=np.int64)
        if constraints is not None:
            values, rules = constraints.values, constraints.rules
            for column in values.T:  # much faster than `unique` of whole rows
                pairs = sorts * (int(column.max()) + 2) + column
                sorts = np.unique(pairs, return_inverse=True)[1]
        if classes is None:
            classes = np.empty(0, dtype=np.int32)
        atoms = np.empty(0, dtype=np.int64)
        if self.table.atoms is not None:
            atoms = _numbered(np.where(self.table.atoms < 0, SUPPRESSED, self.first))
        return kernels.Marks(
            classes, self.penalty, values, sorts, *rules, atoms=atoms, enough=self.enough
        )

    @property
    def groups(self) -> Groups:
        """The groups of all rows."""
        return Groups(_numbered(self.labels[self.first]))

    def random(self, *place: int) -> np.random.Generator:
        """Random numbers for one place in the work, independent of thread and time."""
        return np.random.default_rng((self.seed, *place))

    def block(self, own: Longs) -> kernels.Block:
        """Some rows, in no group yet."""
        return kernels.Block(self.space, self.marks, own, self.k, self.evenness, self.true_price)

    def start(self, threads: ThreadPoolExecutor, plan: Plan) -> None:
        """Grow groups in blocks of similar rows, and sweep them once. No row is suppressed yet."""
        everyone = self.own_rows.astype(np.int32)
        most = max(plan.start, plan.room * self.k)
        blocks = large_enough(tiles(self.table.core, everyone, most), self.k)

        def grow(number: int) -> float:
            block, random = self.block(blocks[number]), self.random(0, number)
            block.grow(random, self.watch)
            if plan.at_once:
                block.refine(math.inf, *self._regrouping(plan, 0.0), random, self.watch)
            block.sweep(math.inf, self.watch)
            self._save(blocks[number], block)
            return block.cost

        for number, cost in enumerate(self._in_threads(threads, grow, len(blocks)), 1):
            self.cost += cost
            self._tell("clustering", number / len(blocks) / (plan.rounds + 1))

    def take_over(self, groups: Groups) -> bool:
        """Start with the groups of another method, and repair those that miss the constraints."""
        _, first, own = np.unique(groups.labels, return_index=True, return_inverse=True)
        self.labels = np.where(groups.labels < 0, SUPPRESSED, first[own])
        return self.comply()

    def comply(self) -> bool:
        """Repair groups that miss the constraints; from here on every move must meet them.

        Groups search the whole table, because similar rows often have similar sensitive values. If
        interrupted, the groups that still miss the constraints merge with those around them, and
        the answer is False.
        """
        self.marks = self._marks(self.table.constraints)
        self._permit(self.allowed)
        self.stage = self.stages - 1
        everyone = self.own_rows
        block = self._load(everyone)
        finished = True
        if self.table.constraints is not None:
            finished = watched(block.repair, self._tell, keeps_result=True)
            self._save(everyone, block)
            if not finished:
                self.progress(STOPPED, 1.0)
        self.cost = block.cost
        return finished

    def start_again(self, labels: Longs, cost: float) -> None:
        """Go back to groups for k alone, as they were before `comply`."""
        self.labels, self.cost, self.marks = labels, cost, self._marks(None)

    def _tell(self, stage: str, share: float) -> None:
        self.progress(stage, (self.stage + share) / self.stages)

    def refine(
        self, threads: ThreadPoolExecutor, schedule: Schedule, number: int, heat: float
    ) -> bool:
        """Do one round over all blocks of a new tiling; return whether it is kept.

        If rows may be suppressed, each block suppresses as many as lower its cost. Then the
        cheapest ones return until the limit is met. The round is kept only if it lowered the cost,
        or if there was heat.
        """
        before = self.labels.copy() if self.limit or heat else self.labels
        cost = self.cost
        self.round += 1
        try:
            blocks = self._blocks(schedule.plan.block)
            self._refine(threads, blocks, schedule, number, heat)
            self._return_rows(threads, blocks)
        except BaseException:
            self.labels, self.cost = before, cost
            raise
        if self.cost <= (math.inf if heat else cost + _LEAST_GAIN) and math.isfinite(self.cost):
            return True
        self.labels, self.cost = before, cost
        return False

    def _refine(
        self,
        threads: ThreadPoolExecutor,
        blocks: list[Longs],
        schedule: Schedule,
        number: int,
        heat: float,
    ) -> None:
        plan = schedule.plan

        def refine(place: int) -> float:
            if schedule.is_over:
                return 0.0
            block = self._load(blocks[place])
            before = block.cost
            random = self.random(self.round, place)
            block.refine(self.price, *self._regrouping(plan, heat), random, self.watch)
            self._save(blocks[place], block)
            return before - block.cost

        grown = 1 / (plan.rounds + 1)
        for done, gain in enumerate(self._in_threads(threads, refine, len(blocks)), 1):
            self.cost -= gain
            share = schedule.done(number + done / len(blocks))
            self._tell(with_loss("clustering", self.cost), grown + (1 - grown) * share)

    def _regrouping(self, plan: Plan, heat: float) -> tuple[int, int, int, float, bool]:
        """How groups are re-formed."""
        return plan.neighbours(self.k), plan.hosts, plan.tries, heat, self.k >= plan.gathers

    def _load(self, own: Longs) -> kernels.Block:
        """Some rows, in their groups."""
        block = self.block(own)
        block.load(_numbered(self.labels[own]))
        return block

    def _save(self, own: Longs, block: kernels.Block) -> None:
        labels = block.labels
        lowest = np.full(len(own) + 1, self.table.rows)
        np.minimum.at(lowest, labels, own)
        self.labels[own] = np.where(labels < 0, SUPPRESSED, lowest[labels])

    def _return_rows(self, threads: ThreadPoolExecutor, blocks: list[Longs]) -> None:
        """Take back the rows whose suppression gains least, until the limit is met."""
        excess = int(np.count_nonzero(self.labels == SUPPRESSED)) - self.limit
        if excess <= 0:
            return
        concerned = [own for own in blocks if (self.labels[own] == SUPPRESSED).any()]

        def offer(place: int) -> Floats:
            return self._load(concerned[place]).offers()

        offers = np.concatenate(list(self._in_threads(threads, offer, len(concerned))))
        rows = np.concatenate([own[self.labels[own] == SUPPRESSED] for own in concerned])
        order = np.lexsort((rows, offers))[:excess]
        if not math.isfinite(offers[order[-1]]):
            self.cost = math.inf  # a block with only suppressed rows: discard this round
            return
        returning = np.zeros(self.table.rows, dtype=np.bool_)
        returning[rows[order]] = True
        self.price = max(self.price, float(offers[order[-1]]))

        def settle(place: int) -> float:
            block = self._load(concerned[place])
            before = block.cost
            block.settle(returning[concerned[place]])
            self._save(concerned[place], block)
            return block.cost - before

        self.cost += sum(self._in_threads(threads, settle, len(concerned)))
        if int(np.count_nonzero(self.labels == SUPPRESSED)) > self.limit:
            self.cost = math.inf  # some rows meet the constraints in no group

    def _in_threads(
        self, threads: ThreadPoolExecutor, work: Callable[[int], T], count: int
    ) -> Iterator[T]:
        """Do `count` pieces of work in parallel and yield their results in order.

        If interrupted, pieces that have begun stop early: each leaves a valid grouping.
        """
        running = [threads.submit(work, number) for number in range(count)]
        try:
            for piece in running:
                yield piece.result()
        except BaseException:
            self.watch.stop()
            raise
        finally:
            for piece in running:
                if not piece.cancel():
                    piece.exception()

    def _blocks(self, block: int) -> list[Longs]:
        """Divide the table into blocks of whole, similar groups.

        A random row represents each group, and attributes get random weights, so that the borders
        between blocks differ in every round. A suppressed row represents itself.
        """
        random = self.random(self.round)
        order = random.permutation(self.own_rows)
        places = np.where(self.labels < 0, np.arange(self.table.rows), self.labels)
        member = np.full(self.table.rows, -1, dtype=np.int32)
        member[places[order]] = order
        shaken = _shaken(self.table.cells, self.table.forest, random)
        most = max(block // self.k, _SMALLEST_BLOCK)
        tiled = tiles(shaken, member[member >= 0], most)
        block_of = np.empty(self.table.rows, dtype=np.int64)
        for number_, own in enumerate(tiled):
            block_of[places[own]] = number_
        numbers = block_of[places[self.own_rows]]
        ends = np.cumsum(np.bincount(numbers, minlength=len(tiled)))
        return np.split(self.own_rows[np.argsort(numbers, kind="stable")], ends[:-1])


def _first_rows(table: EncodedTable) -> Longs:
    """The row that stands for each row: the first of its atom, or itself."""
    rows = np.arange(table.rows)
    if table.atoms is None:
        return rows
    own = np.where(table.atoms < 0, -1 - rows, table.atoms)
    _, first, number = np.unique(own, return_index=True, return_inverse=True)
    return first[number]


def _shaken(cells: Cells, forest: Forest, random: np.random.Generator) -> kernels.Table:
    """The same table with attributes weighted by random factors from 1/3 to 3."""
    factors = 3.0 ** random.uniform(-1, 1, len(cells.weights) + len(forest.first))
    sizes = np.diff(np.append(forest.first, len(forest.depth)))
    by_node = np.repeat(factors[len(cells.weights) :], sizes)
    cells = cells._replace(weights=cells.weights * factors[: len(cells.weights)])
    forest = forest._replace(loss=forest.loss * by_node)
    return kernels.Table(*(*cells, *forest))
