"""The papers' figures and claims, as `figures.toml` declares them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from covey import UsageError
from covey_experiments import examples, files, judging
from covey_experiments.examples import Example
from covey_experiments.judging import Part

RUNS, QUICK_RUNS = 10, 3  # of a random method, whose mean counts
STEADY = ("mondrian", "mdav", "kacpc")  # deterministic methods: one run is enough
QUICK_ROWS = {"adult-8": 3_000, "adult-6": 3_000, "sal": 6_000, "income": 6_000}


class Paper(NamedTuple):
    """A paper with figures."""

    title: str
    short: str
    source: str
    about: str  # what was measured, and what differs here


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


class Target(NamedTuple):
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
    reason: str = ""  # another possible one for the verdict

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

    def request(self, line: Line, x: int, *, quick: bool) -> Target:
        """The point of a line at x."""
        table = line.table or self.table
        rows = QUICK_ROWS[table] if quick else self.rows
        return Target(
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


# ── reading them ────────────────────────────────────────────────────────────────────────────────

_DECLARED: dict[str, Any] = files.declared("figures.toml")
PAPERS = {name: Paper(**paper) for name, paper in _DECLARED["papers"].items()}


def _figure(settings: Mapping[str, Any]) -> Figure:
    """A figure, from its settings and those of its set."""
    lines = [Line(*line) for name in settings["lines"] for line in _DECLARED["lines"][name]]
    return Figure(
        **{name: value for name, value in settings.items() if name != "figures"}
        | {
            "grid": Grid(*map(tuple, _DECLARED["grids"][settings["grid"]])),
            "y": Axis(*_DECLARED["axes"][settings["y"]]),
            "lines": tuple(lines),
            "parts": tuple(part for parts in settings["parts"] for part in _parts(**parts)),
            "reason": _DECLARED["reasons"].get(settings.get("reason"), ""),
        }
    )


def _parts(check: str, each: Iterable[str] = (), **arguments: Any) -> Iterator[Part]:
    """A part of a claim, made for each of some lines."""
    declare = getattr(judging, check)
    if not each:
        yield declare(**arguments)
    for line in each:
        yield declare(line=line, **arguments)


FIGURES = tuple(_figure(shared | own) for shared in _DECLARED["sets"] for own in shared["figures"])
EXAMPLES = tuple(
    Example(**example, work=examples.WORK[example["name"]]) for example in _DECLARED["examples"]
)


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
