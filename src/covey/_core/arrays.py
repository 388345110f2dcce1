"""Bundles of arrays that kernels take."""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


class Cells(NamedTuple):
    """The rows of a table."""

    numbers: Floats  # (rows, intervals) scaled to 0 … 1, missing further away
    weights: Floats  # (intervals,)
    codes: Ints  # (rows, categories) leaves of the forest


class Forest(NamedTuple):
    """The trees of all categories, their nodes numbered through."""

    ancestors: Ints  # (nodes, deepest + 1) ancestor by depth, -1 below the node
    depth: Ints  # (nodes,)
    loss: Floats  # (nodes,) times the weight of the column
    first: Ints  # (trees,) first node of each tree, where its leaves begin
    leaves: Ints  # (trees,) leaves of each tree
    begin: Ints  # (nodes,) first leaf under each node; leaves under one node are neighbours
    end: Ints  # (nodes,) behind the last leaf under each node


class RuleKind(IntEnum):
    """How a rule judges the values of a group; the kernels know them by these numbers."""

    DISTINCT = 0
    SHARES = 1
    ENTROPY = 2
    RECURSIVE = 3
    EQUAL = 4
    ORDERED = 5
    TREE = 6
    BETWEEN = 7


class Rules(NamedTuple):
    """What every group must keep of its sensitive values, one rule after the other, by column.

    If a rule has no use for an array, its part of it is empty.
    """

    places: Longs  # (rules, 5) column, kind, number of values, where bounds and leaves begin
    asked: Floats  # (rules, 3) l, its logarithm or t; c; the distance of an empty group in a tree
    bounds: Floats  # (2, values) highest and lowest shares; or sums of shares, and sums of these
    above: Ints  # (leaves, depths) ancestors of each value, the root left out, -1 for none
    nodes: Floats  # (2, nodes) share of the values under it; the edge above it, in half heights
