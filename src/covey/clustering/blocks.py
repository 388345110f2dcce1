"""Blocks of similar rows, which threads work on side by side."""

import math
import os
from collections.abc import Sequence

import numpy as np

from covey._core import kernels
from covey._core.arrays import Ints, Longs


def tiles(table: kernels.Table, rows: Ints, most: int) -> list[Ints]:
    """Some rows in blocks of similar ones, none of more than `most`."""
    order, ends = kernels.tile(table, rows, most)
    return np.split(order, ends[:-1])


def large_enough(blocks: Sequence[Ints], least: int) -> list[Longs]:
    """Merge blocks that are too small with the next one, or with the last."""
    ready: list[Longs] = []
    waiting: list[Ints] = []
    for block in blocks:
        waiting.append(block)
        if sum(map(len, waiting)) >= least:
            ready.append(np.concatenate(waiting).astype(np.int64))
            waiting = []
    if waiting:
        ready[-1:] = [np.concatenate([*ready[-1:], *waiting]).astype(np.int64)]
    return ready


def workers() -> int:
    """The number of processors for this process; the result does not depend on it.

    `OMP_NUM_THREADS` limits it, as that of other programs: Spark sets it for each of its tasks.
    """
    limit = os.environ.get("OMP_NUM_THREADS", "")
    most = int(limit) if limit.isdecimal() and int(limit) else math.inf
    present = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return int(min(present or 1, most))
