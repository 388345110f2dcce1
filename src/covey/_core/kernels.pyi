"""The compiled kernels, built from the C++ sources beside this file.

Arrays must be contiguous and of exactly these types: nothing is converted. Kernels release the
interpreter's lock; a `Watch` shows how far they are and stops them, in which case they raise
`Stopped`. `table` is `EncodedTable.core`, and labels are the group of each row.
"""

import numpy as np

from covey._core.arrays import Flags, Floats, Ints, Longs

SOURCES: str  # the hash of the sources that the module was built from

class Stopped(Exception):  # noqa: N818 - it is no error
    """A kernel was asked to stop."""

class Watch:
    """A window into a running kernel, for another thread."""

    def __init__(self) -> None: ...
    def stop(self) -> None: ...
    @property
    def stopped(self) -> bool: ...
    @property
    def done(self) -> float:
        """The share of the work that is done."""

class Table:
    """The rows of a table and the trees of its categories: `Table(*cells, *forest)`.

    The last three shape the boxes of a search: they change its speed, never its result.
    """

    def __init__(
        self,
        numbers: Floats,
        weights: Floats,
        codes: Ints,
        ancestors: Ints,
        depth: Ints,
        loss: Floats,
        first: Ints,
        leaves: Ints,
        begin: Ints,
        end: Ints,
        leaf_rows: int = 16,
        bits: int = 64,
        sample: int = 32,
    ) -> None: ...

def tile(table: Table, rows: Ints, most: int) -> tuple[Ints, Longs]:
    """Some rows by blocks of similar ones, none of more than so many, and where each block ends."""

# Groups that grow by the free rows that cost them least. Rows left over come in the given `order`.

def k_member(
    table: Table,
    k: int,
    rule: int,
    start: int,
    picks: Floats,
    order: Longs,
    classes: Ints,
    penalty: float,
    penalise_leftovers: bool,
    watch: Watch,
) -> Longs: ...
def systematic(table: Table, k: int, seeds: Longs, watch: Watch) -> Longs: ...
def gaa_cp(table: Table, k: int, picks: Floats, watch: Watch) -> Longs: ...

# Groups around centres. Numbers at `missing` stand for none.

def kaca(
    table: Table, k: int, classes: Longs, climb: Floats, random: np.random.Generator, watch: Watch
) -> Longs:
    """Merge classes of equal rows. `climb` is the cost by tree, from one depth to another."""

def mdav(table: Table, k: int, caps: Floats, missing: Floats, watch: Watch) -> Longs:
    """Count squares of differences, each up to its cap."""

def oka(
    table: Table, k: int, missing: Floats, random: np.random.Generator, watch: Watch
) -> Longs: ...
def wf_c_means(
    table: Table,
    k: int,
    iterations: int,
    missing: Floats,
    weights: Floats,
    losses: Floats,
    random: np.random.Generator,
    watch: Watch,
) -> Longs:
    """`losses` are those of the forest's nodes, without the weights of the attributes."""

def kacpc(table: Table, k: int, pairs: Floats, numbers: Floats, codes: Ints, watch: Watch) -> Longs:
    """Start at the row nearest to a point. `pairs` is by node, the distance of leaves below it."""

def ikac(table: Table, k: int, pairs: Floats, start: int, watch: Watch) -> Longs: ...

# Nodes that are split from the top. `random` continues where Python left it.

def mondrian(
    table: Table, places: Ints, weights: Floats, k: int, relaxed: bool, watch: Watch
) -> Longs:
    """`places` and `weights` are those of all attributes, numbers before categories."""

def cb(
    table: Table,
    missing: float,
    k: int,
    tries: int,
    restarts: int,
    l: int,
    values: Ints,
    rank: Longs,
    random: np.random.Generator,
    watch: Watch,
) -> Longs:
    """With `values`, none is in more than 1/l of a group; `rank` is the place in the sorted table.

    Missing numbers stand at `missing`.
    """

def nh(
    table: Table, k: int, random: np.random.Generator, watch: Watch
) -> tuple[Longs, Longs, Longs]:
    """The rows ring by ring, where each ring begins, and the end, and the shift of each ring."""

# The covey method.

class Space:
    """What all blocks of a table share."""

    def __init__(self, table: Table) -> None: ...

class Marks:
    """What counts about rows besides their quasi-identifiers: classes, and constrained values."""

    def __init__(
        self,
        classes: Ints,  # none without a class column
        penalty: float,
        values: Ints,  # (rows, columns)
        sorts: Longs,  # equal for rows of equal values
        places: Longs,  # this and the rest: see covey._core.arrays.Rules
        asked: Floats,
        bounds: Floats,
        above: Ints,
        nodes: Floats,
        atoms: Longs,  # of each row, -1 for a row by itself; empty if there are none
        enough: int,  # the rows with which an atom may be a group by itself
    ) -> None: ...
    def excess(
        self, rule: int, members: Ints, less: int, more: int, size: int, final: int
    ) -> float:
        """By how much a group misses a rule after a member has left and another has joined.

        All are given by their value, -1 for none. The group has `size` rows then and will have
        `final`. For tests: the other kernels ask the same of their own groups.
        """

class Block:
    """Some rows of a table and their groups, labelled 0 … and -1 for a suppressed row.

    `price` is that of a suppressed row, infinite if there must be none.
    """

    def __init__(
        self,
        space: Space,
        marks: Marks | None,
        rows: Longs,
        k: int,
        evenness: float,
        price: float,
    ) -> None: ...
    def grow(self, random: np.random.Generator, watch: Watch) -> None:
        """Form groups greedily."""
    def load(self, labels: Longs) -> None:
        """Take over groups."""
    def sweep(self, price: float, watch: Watch) -> None:
        """Dissolve groups that cost more than their rows do elsewhere; of others, let rows go."""
    def refine(
        self,
        price: float,
        neighbours: int,
        hosts: int,
        tries: int,
        heat: float,
        gathers: bool,
        random: np.random.Generator,
        watch: Watch,
    ) -> None:
        """Do one round; if it is stopped, the groups are valid.

        Without heat, they are no dearer than before.
        """
    def repair(self, watch: Watch) -> bool:
        """Change groups until all meet the constraints."""
    def offers(self) -> Floats:
        """What the return of each suppressed row would cost, in their order."""
    def settle(self, returning: Flags) -> None:
        """Let some suppressed rows join the groups where they cost least."""
    @property
    def labels(self) -> Longs: ...
    @property
    def cost(self) -> float: ...

# A lower bound of the loss. Each class of equal rows is given by one of them, by their number and
# by their price. The excess of a group of k to 2k - 1 rows is by what their prices exceed its cost.
# Groups are given by the classes of their rows, the dearest first, and where each group ends.
# `work` is a number of steps; the last result is what is left of it.

def overpriced(
    space: Space, k: int, rows: Longs, counts: Longs, prices: Floats, floor: float, work: int
) -> tuple[Floats, Longs, Longs, int]:
    """The highest excess of the groups whose dearest class it is, and the groups that have it.

    The excess is at least `floor`; then there is no group. It is a bound if the work does not
    suffice.
    """

def groups_above(
    space: Space,
    k: int,
    rows: Longs,
    counts: Longs,
    prices: Floats,
    floor: float,
    most: int,
    work: int,
) -> tuple[Longs, Longs, Floats, int]:
    """All groups whose excess is above `floor`, and their excess.

    The search ends if there are more than `most`, or if the work does not suffice.
    """

# The covey method, for the sum of squares.

class Annealing:
    """Points in groups of k or more, changed at random while it grows colder.

    The number of coordinates is a multiple of 4. Labels are 0 … rows // k - 1. A change concerns a
    row and one of so many `near` it.
    """

    def __init__(self, points: Floats, labels: Longs, k: int, near: int) -> None: ...
    def run(
        self, sweeps: int, heat: float, fall: float, random: np.random.Generator, watch: Watch
    ) -> None:
        """Look at each row so many times; each time the heat is multiplied by `fall`.

        If it is stopped, the groups are valid.
        """
    @property
    def labels(self) -> Longs: ...
    @property
    def cost(self) -> float:
        """The sum of the squared distances of all points to the means of their groups."""
