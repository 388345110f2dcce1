"""The papers' figures and claims, declared as data.

The axes and fixed values are the papers'. If a paper does not print the positions of its points,
they are chosen here. The covey method is an additional line in every figure and is not part of a
claim.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, NamedTuple

from covey import UsageError
from covey_experiments import examples
from covey_experiments.examples import Example
from covey_experiments.judging import (
    Part,
    above,
    at_most,
    below,
    best,
    erratic,
    falls,
    gain,
    gain_reaches,
    gain_steady,
    gain_widens,
    groups_of_k,
    holds_up,
    near,
    power,
    ratio_below,
    rises,
    spread_shrinks,
    spread_widens,
    straight,
)

RUNS, QUICK_RUNS = 10, 3  # of a random method, whose mean counts
ROUGHLY = 0.95  # share of the variance that a straight line explains, for looser claims
STEADY = ("mondrian", "mdav", "kacpc")  # deterministic methods: one run is enough
OWN = "covey"


class Paper(NamedTuple):
    """A paper with figures."""

    title: str
    short: str
    source: str
    about: str  # what was measured, and what differs here


PAPERS = {
    "byun": Paper(
        "Byun, Kamra, Bertino and Li 2007",
        "Byun et al. 2007",
        "Efficient k-Anonymization Using Clustering Techniques, DASFAA 2007",
        "The paper compares its greedy k-member with median partitioning (Mondrian) on UCI Adult: "
        "age and years of schooling as numbers, six categories in trees, the salary as the class. "
        "The modified k-member adds a penalty for each row outside its group’s majority class. The "
        "paper does not print its trees, so absolute losses differ from the paper’s.",
    ),
    "he": Paper(
        "He, Chen, Chen, Dong, Wang and Huang 2012",
        "He et al. 2012",
        "Clustering-Based k-Anonymity, PAKDD 2012",
        "The paper compares its bisecting CB with NH, non-homogeneous generalisation, on two "
        "tables of the American census, SAL and INCOME. All columns are numbers in the order of "
        "their codes, as in the paper’s definition of loss. NH does not release equal rows, so its "
        "guarantee is weaker. The paper of NH was not available, so covey’s NH is inferred from "
        "what others report. The covey method uses the effort “quick” here, since the tables are "
        "large.",
    ),
    "wang": Paper(
        "Wang, He and Zhu 2022",
        "Wang et al. 2022",
        "Improving Data Utilization of K-anonymity through Clustering Optimization, "
        "Transactions on Data Privacy 2022",
        "The paper compares its KACPC with four others on UCI Adult: age as a number, five "
        "categories in trees. Precision is one minus the mean loss of a cell. IKAC, OKA and GAA-CP "
        "are partly inferred from what others report. The paper’s programs ran in MATLAB; covey’s "
        "methods are compiled.",
    ),
}


class Line(NamedTuple):
    """One method in a figure: its label there, and the method with its options."""

    label: str
    method: str
    table: str | None = None  # if it differs from the figure's

    @property
    def is_steady(self) -> bool:
        """Whether the method is deterministic."""
        return self.method.partition(":")[0] in STEADY


class Axis(NamedTuple):
    """The y axis: a measure of a run, and its title."""

    measure: Literal[
        "total_il", "discernibility", "classification", "gcp", "precision", "cpu_seconds"
    ]
    title: str


class Grid(NamedTuple):
    """The x values of the points, in a full run and in a quick run."""

    full: tuple[int, ...]
    quick: tuple[int, ...]


LOSS = Axis("total_il", "Total-IL")
DM = Axis("discernibility", "DM, discernibility")
CM = Axis("classification", "CM, share of rows outside their majority class")
GCP = Axis("gcp", "GCP, mean loss of a cell")
PRECISION = Axis("precision", "precision")
SECONDS = Axis("cpu_seconds", "seconds of processor time")


class Request(NamedTuple):
    """A point: the runs of one method on one part of a table, whose mean it shows."""

    table: str
    rows: int | None  # None means all
    columns: int | None
    method: str
    k: int

    @property
    def part(self) -> tuple[str, int | None, int | None]:
        """The part of the table."""
        return self[:3]


@dataclass(frozen=True)
class Figure:
    """One figure of a paper."""

    name: str
    number: str
    title: str
    table: str
    x: Literal["k", "rows", "columns"]
    grid: Grid
    y: Axis
    lines: tuple[Line, ...]  # the covey method last
    claim: str
    parts: tuple[Part, ...]
    k: int = 0
    columns: int | None = None
    rows: int | None = None
    mind: str = ""  # another possible reason for the verdict

    @property
    def paper(self) -> str:
        """The key of its paper."""
        return self.name.partition("-")[0]

    @property
    def x_title(self) -> str:
        """The title of the x axis."""
        return {"k": "k", "rows": "rows, n", "columns": "quasi-identifiers, d"}[self.x]

    @property
    def own(self) -> Line:
        """The line of the covey method."""
        return self.lines[-1]

    @property
    def tables(self) -> tuple[str, ...]:
        """All tables that its lines are measured on."""
        return tuple(dict.fromkeys(line.table or self.table for line in self.lines))

    def places(self, *, quick: bool) -> tuple[int, ...]:
        """The x values of the points."""
        return self.grid.quick if quick else self.grid.full

    def request(self, line: Line, x: int, *, quick: bool) -> Request:
        """The point of a line at x."""
        table = line.table or self.table
        rows = QUICK_ROWS[table] if quick else self.rows
        return Request(
            table=table,
            rows=x if self.x == "rows" else rows,
            columns=x if self.x == "columns" else self.columns,
            method=line.method,
            k=x if self.x == "k" else self.k,
        )

    def setting(self, *, quick: bool, most: int) -> str:
        """The fixed values of the figure, for a table with `most` rows."""
        asked = QUICK_ROWS[self.table] if quick else self.rows
        rows = most if asked is None else min(asked, most)
        fixed = [f"k = {self.k}"] if self.x != "k" else []
        if self.x != "rows":
            fixed.append(f"n = {rows:,}")
        if self.x != "columns" and self.columns is not None:
            fixed.append(f"d = {self.columns}")
        return ", ".join(fixed)


QUICK_ROWS = {"adult-8": 3_000, "adult-6": 3_000, "sal": 6_000, "income": 6_000}
_ADULT_ROWS = Grid((5_000, 10_000, 15_000, 20_000, 25_000, 30_000), (1_000, 2_000, 3_000))

# ── Byun et al. 2007 ────────────────────────────────────────────────────────────────────────────

_BYUN_LINES = (
    Line("Mondrian", "mondrian"),
    Line("k-member", "k-member:penalty=0"),
    Line("modified k-member", "k-member:penalty=1"),
    Line(OWN, "covey:penalty=0"),
)
_TREE = (
    "covey’s k-member searches a tree of boxes. It finds the same rows as the paper’s search of "
    "all rows, but faster."
)
_BYUN_K = Grid((2, 5, 10, 25, 50, 75, 100), (5, 25, 100))


def _byun(
    number: int,
    title: str,
    y: Axis,
    claim: str,
    parts: Sequence[Part],
    *,
    by_rows: bool = False,
    asked: str = "",
) -> Figure:
    """A figure of the paper; `asked` is an objective by which the covey method is a line more."""
    own = (Line(f"{OWN}, asked for this", f"covey:objective={asked}"),) if asked else ()
    return Figure(
        name=f"byun-{number}",
        number=f"Figure {number}",
        title=title,
        table="adult-8",
        x="rows" if by_rows else "k",
        grid=_ADULT_ROWS if by_rows else _BYUN_K,
        y=y,
        lines=(*_BYUN_LINES, *own),
        claim=claim,
        parts=tuple(parts),
        k=5 if by_rows else 0,
        mind=_TREE if y is SECONDS else "",
    )


_BYUN = (
    _byun(
        6,
        "Information loss and k",
        LOSS,
        "Greedy k-member loses least for every k, the modified one loses slightly more, and "
        "Mondrian loses most.",
        [
            best("k-member", ["modified k-member", "Mondrian"], low=True),
            below("modified k-member", "Mondrian"),
            near("modified k-member", "k-member", 0.1),
        ],
    ),
    _byun(
        7,
        "Discernibility and k",
        DM,
        "Both greedy methods have a lower discernibility than Mondrian, since their groups have "
        "only slightly more than k rows.",
        [
            below("k-member", "Mondrian"),
            below("modified k-member", "Mondrian"),
            groups_of_k("k-member", 0.1),
            groups_of_k("modified k-member", 0.1),
        ],
        asked="discernibility",
    ),
    _byun(
        8,
        "Classification and k",
        CM,
        "The modified k-member is best; the plain one is also better than Mondrian for every k.",
        [
            best("modified k-member", ["k-member", "Mondrian"], low=True),
            below("k-member", "Mondrian"),
        ],
        asked="classification",
    ),
    _byun(
        9,
        "Time and k",
        SECONDS,
        "Greedy k-member is slower than Mondrian, which is acceptable for a one-time task.",
        [above("k-member", "Mondrian"), at_most("k-member", 600, "s")],
    ),
    _byun(
        10,
        "Information loss and n",
        LOSS,
        "The loss grows almost linearly with the number of rows, and greedy k-member loses least "
        "at every size.",
        [
            straight("k-member"),
            straight("Mondrian"),
            best("k-member", ["modified k-member", "Mondrian"], low=True),
        ],
        by_rows=True,
    ),
    _byun(
        11,
        "Time and n",
        SECONDS,
        "Greedy k-member is slower. Its time grows with the square of the number of rows; the "
        "time of Mondrian grows almost linearly.",
        [
            above("k-member", "Mondrian"),
            power("k-member", 1.7, 2.3),
            power("Mondrian", 0.8, 1.3),
        ],
        by_rows=True,
    ),
)

# ── He et al. 2012 ──────────────────────────────────────────────────────────────────────────────

_HE_LINES = (Line("CB", "cb"), Line("NH", "nh"), Line(OWN, "covey:effort=quick"))
_HE_PAIRS = tuple(
    Line(f"{line.label} on {table.upper()}", line.method, table)
    for line in _HE_LINES
    for table in ("sal", "income")
)
_HE_K = Grid((50, 100, 150, 200, 250), (50, 100, 250))
_HE_D = Grid((3, 4, 5, 6), (3, 4, 5, 6))
_HE_N = Grid((100_000, 200_000, 300_000, 400_000, 500_000), (6_000, 12_000, 18_000))
_HE_ROWS = 100_000
_HE_TABLES = (("a", "sal"), ("b", "income"))
_K = 100
_LINEAR = (0.8, 1.2)  # powers that pass as linear
_NH = (
    "The paper of NH was not available, so covey’s NH is inferred. Its guarantee is weaker than "
    "that of the others."
)


def _he(which: str, title: str, x: Literal["k", "rows", "columns"], **rest: Any) -> Figure:
    """A figure with the settings that most of the paper's figures share; `rest` overrides them."""
    settings: dict[str, Any] = {
        "number": f"Figure {which[0]}({which[1]})",
        "grid": {"k": _HE_K, "rows": _HE_N, "columns": _HE_D}[x],
        "y": GCP,
        "lines": _HE_LINES,
        "k": 0 if x == "k" else _K,
        "columns": None if x == "columns" else 6,
        "rows": None if x == "rows" else _HE_ROWS,
        "mind": _NH,
    }
    return Figure(name=f"he-{which}", title=title, x=x, **settings | rest)


def _he_6(letter: str, table: str, d: int) -> Figure:
    first = letter == "a"
    claim = "GCP grows about linearly with k"
    return _he(
        f"6{letter}",
        f"GCP and k, {table.upper()}-{d}",
        "k",
        table=table,
        columns=d,
        claim=claim + ("." if first else ", and the GCP of CB is well below that of NH."),
        parts=(
            straight("CB", ROUGHLY),
            straight("NH", ROUGHLY),
            *(() if first else (below("CB", "NH"),)),
        ),
    )


_HE = (
    *(
        _he_6(letter, table, d)
        for letter, (table, d) in zip(
            "abcdefgh", product(("sal", "income"), (3, 4, 5, 6)), strict=True
        )
    ),
    _he(
        "6-domains",
        "GCP and k, SAL-6 and INCOME-6 together",
        "k",
        number="Figure 6(d, h)",
        table="sal",
        lines=_HE_PAIRS,
        claim="NH loses more with the large domains of INCOME than with those of SAL; the size of "
        "domains affects CB less.",
        parts=(
            above("NH on INCOME", "NH on SAL"),
            ratio_below(("CB on INCOME", "CB on SAL"), ("NH on INCOME", "NH on SAL")),
        ),
    ),
    *(
        _he(
            f"7{letter}",
            f"GCP and d, {table.upper()}",
            "columns",
            table=table,
            claim="GCP grows with the number of columns; with four to six, CB has the lower GCP.",
            parts=(rises("CB"), rises("NH"), below("CB", "NH", of=(4, 5, 6))),
        )
        for letter, table in _HE_TABLES
    ),
    *(
        _he(
            f"8{letter}",
            f"GCP and n, {table.upper()}-6",
            "rows",
            table=table,
            claim="GCP falls as the number of rows grows, and CB always has the lower GCP.",
            parts=(falls("CB"), falls("NH"), below("CB", "NH")),
        )
        for letter, table in _HE_TABLES
    ),
    *(
        _he(
            f"9{letter}",
            f"Time and n, {table.upper()}-6",
            "rows",
            table=table,
            y=SECONDS,
            claim="Time grows linearly with the number of rows. NH is faster, but CB never takes "
            "more than 500 seconds.",
            parts=(
                power("CB", *_LINEAR),
                power("NH", *_LINEAR),
                below("NH", "CB"),
                at_most("CB", 500, "s"),
            ),
        )
        for letter, table in _HE_TABLES
    ),
)

# ── Wang et al. 2022 ────────────────────────────────────────────────────────────────────────────

_WANG_LINES = (
    Line("KACPC", "kacpc"),
    Line("MDAV", "mdav"),
    Line("IKAC", "ikac"),
    Line("OKA", "oka"),
    Line("GAA-CP", "gaa-cp"),
    Line(OWN, "covey"),
)
_THEIRS = [line.label for line in _WANG_LINES if line.label != OWN]


def _all_but(label: str) -> list[str]:
    return [line for line in _THEIRS if line != label]


_OTHERS = _all_but("KACPC")
_COMPILED = (
    "The paper’s programs ran in MATLAB, and covey’s are compiled. That alone may change which "
    "method is faster."
)
_WANG_K = Grid((10, 20, 30, 40, 50, 60, 70, 80, 90, 100), (10, 50, 100))
_WANG_D = Grid((2, 3, 4, 5, 6), (2, 4, 6))


def _wang(
    name: str,
    title: str,
    x: Literal["k", "rows", "columns"],
    y: Axis,
    claim: str,
    parts: Sequence[Part],
    k: int = 0,
) -> Figure:
    return Figure(
        name=f"wang-{name}",
        number=f"Figure {name[0]}({name[1]})",
        title=title,
        table="adult-6",
        x=x,
        grid={"k": _WANG_K, "rows": _ADULT_ROWS, "columns": _WANG_D}[x],
        y=y,
        lines=_WANG_LINES,
        claim=claim,
        parts=tuple(parts),
        k=k,
        columns=None if x == "columns" else 6,
        mind=_COMPILED if y is SECONDS else "",
    )


def _wang_d(number: int, k: int, more: Sequence[Part], told: str) -> tuple[Figure, Figure]:
    return (
        _wang(
            f"{number}a",
            f"Precision and d, k = {k}",
            "columns",
            PRECISION,
            "KACPC is best. The precision of KACPC, IKAC and GAA-CP falls with each column; that "
            "of MDAV and OKA goes up and down.",
            [
                best("KACPC", _OTHERS, low=False),
                *(falls(label) for label in ("KACPC", "IKAC", "GAA-CP")),
                erratic("MDAV"),
                erratic("OKA"),
            ],
            k,
        ),
        _wang(
            f"{number}b",
            f"Time and d, k = {k}",
            "columns",
            SECONDS,
            f"Time rises with each column{told}.",
            [*(rises(label) for label in _THEIRS), *more],
            k,
        ),
    )


def _wang_n(number: int, k: int, more: Sequence[Part], told: str) -> tuple[Figure, Figure]:
    return (
        _wang(
            f"{number}a",
            f"Precision and n, k = {k}",
            "rows",
            PRECISION,
            f"Precision rises with the number of rows, and KACPC is best{told}.",
            [
                best("KACPC", _OTHERS, low=False),
                *(rises(label) for label in _THEIRS),
                *more,
            ],
            k,
        ),
        _wang(
            f"{number}b",
            f"Time and n, k = {k}",
            "rows",
            SECONDS,
            "Time rises with the number of rows, and the gaps between the methods widen.",
            [*(rises(label) for label in _THEIRS), spread_widens(_THEIRS)],
            k,
        ),
    )


_WANG = (
    _wang(
        "3a",
        "Precision and k",
        "k",
        PRECISION,
        "KACPC is best for every k. All except MDAV fall as k grows. KACPC is better than IKAC by "
        "up to 20.7 %, increasingly so, and better than OKA by a steady 30 to 40 %.",
        [
            best("KACPC", _OTHERS, low=False),
            *(falls(label) for label in _all_but("MDAV")),
            holds_up("MDAV"),
            gain_reaches("KACPC", "IKAC", 0.207, 0.05),
            gain_widens("KACPC", "IKAC"),
            gain("KACPC", "OKA", 0.3, 0.4),
            gain_steady("KACPC", "OKA", 0.1),
        ],
    ),
    _wang(
        "3b",
        "Time and k",
        "k",
        SECONDS,
        "Time falls as k grows, and the gaps between the methods shrink.",
        [*(falls(label) for label in _THEIRS), spread_shrinks(_THEIRS)],
    ),
    *_wang_d(4, 10, (), ""),
    *_wang_d(
        5,
        50,
        (
            best("OKA", _all_but("OKA"), low=False, called="slowest"),
            best("MDAV", _all_but("MDAV"), low=True, called="fastest"),
            below("KACPC", "IKAC"),
        ),
        "; OKA is slowest, MDAV fastest, and KACPC faster than IKAC",
    ),
    *_wang_n(6, 10, (), ""),
    *_wang_n(7, 50, (spread_shrinks(["MDAV", "IKAC"]),), "; the gap between MDAV and IKAC narrows"),
)

# ── all of them ─────────────────────────────────────────────────────────────────────────────────

FIGURES: tuple[Figure, ...] = (*_BYUN, *_HE, *_WANG)
EXAMPLES: tuple[Example, ...] = examples.EXAMPLES


def chosen(names: Iterable[str]) -> tuple[list[Figure], list[Example]]:
    """The figures and examples with these names; `he` selects a paper, `he-6` all its parts."""
    wanted = list(dict.fromkeys(names))
    figures = [f for f in FIGURES if any(_named(f.name, name) for name in wanted)]
    shown = [e for e in EXAMPLES if any(_named(e.name, name) for name in wanted)]
    known = [*(f.name for f in FIGURES), *(e.name for e in EXAMPLES)]
    for name in wanted:
        if not any(_named(item, name) for item in known):
            raise UsageError(f"there is no experiment {name!r}; `covey experiment list` shows all")
    if not wanted:
        raise UsageError("name an experiment, or all; `covey experiment list` shows them")
    return figures, shown


def _named(item: str, name: str) -> bool:
    rest = item.removeprefix(name)
    return name == "all" or (bool(name) and item.startswith(name) and not rest[:1].isdigit())
