"""covey's own method: grow groups, then form neighbouring ones anew while that lowers the loss.

Everything happens in blocks of similar rows, so that the time grows with the number of rows, and
blocks are worked on side by side. Each round lays other blocks over the table.
"""

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from covey.encoding import EncodedTable
from covey.errors import UsageError
from covey.groups import Groups
from covey.kernels.arrays import Cells, Floats, Forest, Ints, Longs
from covey.progress import STOPPED, Progress, silent

if TYPE_CHECKING:
    from covey.kernels.refinement import Rows

Effort = Literal["fast", "balanced", "best"]


@dataclass(frozen=True)
class Plan:
    """How much work an effort is."""

    rounds: int
    gain: float  # share of the loss that a round must gain to be followed by another
    start: int = 512  # rows in a block in which groups are grown
    block: int = 8_192  # rows in a block in which groups are refined
    pool: int = 20  # rows that are formed anew together, or those of three groups
    tries: int = 4

    def neighbours(self, k: int) -> int:
        """Groups that are formed anew together with each."""
        return max(3, -(-self.pool // k)) - 1


PLANS: dict[Effort, Plan] = {
    "fast": Plan(rounds=0, gain=1.0),
    "balanced": Plan(rounds=5, gain=0.01),
    "best": Plan(rounds=40, gain=0.001, tries=8, block=16_384),
}
_SMALLEST_BLOCK = 8  # groups of k
_LARGEST_TREE = 256  # leaves of a tree whose pairs are kept in a table


def covey(
    table: EncodedTable,
    k: int,
    *,
    seed: int = 0,
    effort: Effort = "balanced",
    budget: float | None = None,
    progress: Progress = silent,
) -> Groups:
    """Partition the rows by growing groups and forming neighbouring ones anew while that pays.

    Groups grow from random rows, each by the k - 1 free rows that add least information loss, in
    blocks of similar rows. Then, round by round: a group whose rows cost less elsewhere is
    dissolved; rows of groups of more than `k` go where they cost less; and each group is formed
    anew together with its nearest ones, several times, of which the cheapest counts. Groups may so
    become larger than 2k - 1 where rows are alike, and there are fewer than n/k of them: that is
    where most of the gain is.

    `effort` says how much work is done: `fast` only grows groups, `balanced` stops when a round
    gains less than 1 %, `best` when it gains nearly nothing. A `budget` in seconds ends it earlier;
    the result then depends on the machine. Interrupted while it refines, it keeps what it has.
    Time near-linear in n, memory O(n).
    """
    if effort not in get_args(Effort):
        raise UsageError(f"effort must be one of {', '.join(get_args(Effort))}")
    if budget is not None and not (isinstance(budget, int | float) and budget > 0):
        raise UsageError("the budget must be a number of seconds above 0")
    end = float("inf") if budget is None else time.monotonic() + budget
    plan, work = PLANS[effort], _Work(table, k, seed)
    with ThreadPoolExecutor(workers()) as threads:
        loss = work.start(threads, plan, progress)
        try:
            for number in range(1, plan.rounds + 1):
                if loss == 0.0 or time.monotonic() > end:
                    break
                before, loss = loss, work.refine(threads, plan, number, end, progress)
                if before - loss < plan.gain * before:
                    break
        except KeyboardInterrupt:
            progress(STOPPED, 1.0)
    progress("clustering", 1.0)
    return Groups(np.unique(work.labels, return_inverse=True)[1])


def workers() -> int:
    """As many threads as there are processors for this process; the result is the same for all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Work:
    """A table, what its blocks have in common, and the groups so far.

    A group is labelled by one of its rows, so that blocks can be worked on without a word between
    them: no label occurs in two of them.
    """

    def __init__(self, table: EncodedTable, k: int, seed: int) -> None:
        self.table, self.k, self.seed = table, k, seed
        self.labels = np.zeros(table.rows, dtype=np.int64)
        self.cells, self.forest = table.cells, table.forest
        self.pairs, self.begins = _pair_losses(table)

    def random(self, *place: int) -> np.random.Generator:
        """Random numbers for one place in the work, whoever does it and when."""
        return np.random.default_rng((self.seed, *place))

    def rows(self, own: Longs | Ints) -> "Rows":
        """A block for the kernels."""
        from covey.kernels.refinement import Rows

        return Rows(
            numbers=self.cells.numbers[own],
            codes=self.cells.codes[own],
            weights=self.cells.weights,
            first=self.forest.first,
            leaves=self.forest.leaves.astype(np.int64),
            start=self.begins,
            pairs=self.pairs,
            forest=self.forest,
        )

    def start(self, threads: ThreadPoolExecutor, plan: Plan, progress: Progress) -> float:
        """Grow groups in blocks of similar rows; their loss."""
        from covey.kernels import refinement
        from covey.kernels.box_tree import tile

        everyone = np.arange(self.table.rows, dtype=np.int32)
        most = max(plan.start, _SMALLEST_BLOCK * self.k)
        blocks = _large_enough(tile(self.cells, self.forest, everyone, most), self.k)

        def grow(number: int) -> float:
            own = blocks[number]
            rows = self.rows(own)
            parts = refinement.new_parts(rows, len(own) // self.k)
            refinement.grow(rows, parts, self.k, self.random(0, number))
            self.labels[own] = own[parts.labels]
            return refinement.total_loss(parts)

        return _in_threads(threads, grow, len(blocks), progress, 0.0, 1 / (plan.rounds + 1))

    def refine(
        self,
        threads: ThreadPoolExecutor,
        plan: Plan,
        number: int,
        end: float,
        progress: Progress,
    ) -> float:
        """One round over all blocks of a new tiling; the loss then."""
        from covey.kernels import refinement

        blocks, neighbours = self._blocks(plan, number), plan.neighbours(self.k)

        def refine(place: int) -> float:
            own = blocks[place]
            rows = self.rows(own)
            inside = np.unique(self.labels[own], return_inverse=True)[1]
            parts = refinement.new_parts(rows, len(own) // self.k)
            refinement.load(rows, parts, inside)
            if time.monotonic() <= end:
                random = self.random(number, place)
                refinement.refine(rows, parts, self.k, neighbours, plan.tries, random)
                self.labels[own] = own[parts.labels]
            return refinement.total_loss(parts)

        share = 1 / (plan.rounds + 1)
        return _in_threads(threads, refine, len(blocks), progress, number * share, share)

    def _blocks(self, plan: Plan, number: int) -> list[Longs]:
        """Blocks of whole groups, similar ones together.

        Groups are put together by a random member, and attributes count by chance for more or less,
        so that the borders between blocks are elsewhere in every round.
        """
        from covey.kernels.box_tree import tile

        random = self.random(number)
        order = random.permutation(self.table.rows)
        chosen = order[np.unique(self.labels[order], return_index=True)[1]].astype(np.int32)
        cells, forest = _shaken(self.cells, self.forest, random)
        most = max(plan.block // self.k, _SMALLEST_BLOCK)
        tiles = tile(cells, forest, chosen, most)
        block_of = np.empty(self.table.rows, dtype=np.int64)  # by label
        for place, own in enumerate(tiles):
            block_of[self.labels[own]] = place
        block = block_of[self.labels]
        ends = np.cumsum(np.bincount(block, minlength=len(tiles)))
        return np.split(np.argsort(block, kind="stable"), ends[:-1])


def _large_enough(blocks: Sequence[Ints], k: int) -> list[Ints]:
    """Blocks of fewer than k rows go together with the next one, or with the last."""
    waiting = np.empty(0, dtype=np.int32)
    ready: list[Ints] = []
    for block in blocks:
        waiting = np.concatenate([waiting, block])
        if len(waiting) >= k:
            ready.append(waiting)
            waiting = np.empty(0, dtype=np.int32)
    if len(waiting):
        ready[-1] = np.concatenate([ready[-1], waiting])
    return ready


def _shaken(cells: Cells, forest: Forest, random: np.random.Generator) -> tuple[Cells, Forest]:
    """The same table with attributes that count for between a third and thrice as much."""
    factors = 3.0 ** random.uniform(-1, 1, len(cells.weights) + len(forest.first))
    sizes = np.diff(np.append(forest.first, len(forest.depth)))
    by_node = np.repeat(factors[len(cells.weights) :], sizes)
    return (
        cells._replace(weights=cells.weights * factors[: len(cells.weights)]),
        forest._replace(loss=forest.loss * by_node),
    )


def _pair_losses(table: EncodedTable) -> tuple[Floats, Longs]:
    """The losses of pairs of leaves of all trees but large ones, and where each tree's begin."""
    begins, losses, behind = [], [np.empty(0)], 0
    for category, first in zip(table.categories, table.forest.first, strict=True):
        tree = category.tree
        if tree.leaf_count > _LARGEST_TREE:
            begins.append(-1)
            continue
        ancestors = tree.ancestors[: tree.leaf_count]
        shared = (ancestors[:, None] == ancestors[None]) & (ancestors >= 0)[:, None]
        above = np.take_along_axis(ancestors, shared.sum(axis=2) - 1, axis=1)
        losses.append(table.forest.loss[first + above].ravel())
        begins.append(behind)
        behind += tree.leaf_count**2
    return np.concatenate(losses), np.array(begins, dtype=np.int64)


def _in_threads(
    threads: ThreadPoolExecutor,
    work: Callable[[int], float],
    count: int,
    progress: Progress,
    done: float,
    share: float,
) -> float:
    """Do so many pieces of work side by side; the sum of what they give, in their order.

    Interrupted, it lets those end that have begun: each leaves a legal grouping.
    """
    running: list[Future[float]] = [threads.submit(work, number) for number in range(count)]
    total = 0.0
    try:
        for number, piece in enumerate(running, 1):
            total += piece.result()
            progress("clustering", done + share * number / count)
    except BaseException:
        for piece in running:
            if not piece.cancel():
                piece.exception()
        raise
    return total
