"""Compare covey with other Python packages, on the same rows and by the same measures.

The table is Adult with the eight quasi-identifiers of Byun et al. 2007. Each peer is installed into
its own environment and runs in its own process (`benchmarks/peer_runs.py`), on more and more rows
until it needs more than `--limit` seconds or `--memory` gibibytes. covey runs in the same way with
each of its methods, and the covey method with every effort, from a dataframe to a verified release.
Its modules are loaded before, as the peers' are; its time includes the verification and the report.

Processor seconds are user and system time of the process, summed over all threads, so that other
work on the machine hardly changes them. Memory is the peak of the process.

A peer's release is rewritten in covey's notation, `[low, high]` and `{a, b}`, and then judged by
`covey.measure` and `covey.verify`. A set of values counts as its lowest common ancestor, and a
suppressed row as a total loss. Neither step is part of a peer's time.

- anonypy: Mondrian. It needs pandas without declaring it, so pandas is installed with it.
- anonypyx: Mondrian, and MDAV-generic. MDAV-generic stops with a TypeError on pandas 3 ("Invalid
  value ... for dtype"), since it puts fractions into columns of whole numbers and numbers into
  categories. It works on pandas 2.3, so both run on that. It holds a matrix of all distances, 8 n²
  bytes, and three copies of half of it.
- anjana, which judges by pycanon: full-domain generalisation along hierarchies, with up to 10, 20
  or 50 % of the rows suppressed; its own example allows 50 %. It gets the same hierarchies as
  covey, and also intervals of 5, 10 and 20 years for ages and of 2, 4 and 8 ranks for schooling.

This needs a package index and `covey[charts,pandas]`. The output is Markdown and, with `--picture`,
a picture of loss against time. `benchmarks/tables.py` describes the table.
Run: python -m benchmarks.peers [--data FOLDER] [--venvs FOLDER] [--picture FOLDER]
"""

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
from benchmarks import tables
from benchmarks.scatter import Spot, scatter

import covey
from covey.clustering.efforts import PLANS
from covey.encoding.categories import spell_set
from covey.report import charts
from covey.schema import ColumnType, taxonomy

KS = (5, 10, 50)
SIZES = (3_000, 10_000, 30_162)
OWN, PAPERS, OTHERS = "covey’s own method", "methods of papers, in covey", "other Python packages"
WIDTHS = {"age": ((5, 10, 20), 0), "education-num": ((2, 4, 8), 1)}  # for anjana: steps, origin
RUNNER = Path(__file__).with_name("peer_runs.py")


# ── the peers ───────────────────────────────────────────────────────────────────────────────────


def as_covey_spells(released: pl.DataFrame, schema: covey.Schema) -> pl.DataFrame:
    """`17-25` and `a,b` with a column of counts: the notation of anonypy and anonypyx."""
    cells = released.select(
        *(
            pl.col(name).map_elements(
                _interval if column.type is ColumnType.NUMERIC else _set, pl.String
            )
            for name, column in schema.quasi.items()
        ),
        pl.col(tables.SENSITIVE),
    )
    rows = pl.int_range(released.height, eager=True).repeat_by(released["count"]).explode()
    return cells[rows]


def _interval(cell: str) -> str:
    low, _, high = cell.partition("-")
    return f"[{low}, {high}]" if high else low


def _set(cell: str) -> str:
    return spell_set(cell.split(",")) if "," in cell else cell


def as_it_is(released: pl.DataFrame, _: covey.Schema) -> pl.DataFrame:
    """No change: anjana uses the labels of the given hierarchies, and covey its own notation."""
    return released


@dataclass(frozen=True)
class Anonymizer:
    """A tool that makes tables k-anonymous, and the environment that it runs in."""

    run: str  # its name in peer_runs.py
    label: str
    point: str  # its label in the picture
    packages: tuple[str, ...] = ()  # of its environment; none for covey's
    spell: Callable[[pl.DataFrame, covey.Schema], pl.DataFrame] = as_it_is
    series: str = OTHERS


ANONYPYX = ("anonypyx>=0.2.11,<0.3", "pandas<3")
PEERS = (
    Anonymizer(
        "anonypy",
        "anonypy, Mondrian",
        "anonypy",
        ("anonypy>=0.2.1,<0.3", "pandas"),
        as_covey_spells,
    ),
    Anonymizer(
        "anonypyx-mondrian", "anonypyx, Mondrian", "anonypyx, Mondrian", ANONYPYX, as_covey_spells
    ),
    Anonymizer(
        "anonypyx-mdav", "anonypyx, MDAV-generic", "anonypyx, MDAV", ANONYPYX, as_covey_spells
    ),
    *(
        Anonymizer(
            f"anjana-{percent}",
            f"anjana, {percent} % suppression",
            f"anjana, ≤ {percent} % left out",
            ("anjana>=1.2.3,<2",),
        )
        for percent in (10, 20, 50)
    ),
)
EFFORTS = tuple(
    Anonymizer(f"covey-covey:{effort}", f"**covey, {effort}**", effort, series=OWN)
    for effort in PLANS
)
METHODS = tuple(
    Anonymizer(f"covey-{name}", f"covey, {name}", name, series=PAPERS)
    for name in covey.METHODS
    if name != "covey"
)


def environment(folder: Path, packages: tuple[str, ...]) -> Path:
    """The interpreter of an environment with these packages, created if it does not exist."""
    if not packages:
        return Path(sys.executable)
    home = folder / packages[0].partition(">")[0]
    python, stamp = home / "bin" / "python", home / "packages.json"
    if not stamp.exists() or json.loads(stamp.read_text()) != list(packages):
        print(f"installing {', '.join(packages)}", file=sys.stderr, flush=True)
        venv.create(home, with_pip=True, clear=True)
        pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        subprocess.run((*pip, *packages), check=True)
        stamp.write_text(json.dumps(packages))
    return python


# ── running ─────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def inputs(rows: pl.DataFrame, schema: covey.Schema) -> Iterator[Path]:
    """A folder with everything that any of them needs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows.write_csv(folder / "rows.csv")
        write_schema(folder, schema)
        for column, tree in hierarchies(rows, schema):
            tree.write_arx(folder / f"{column}.csv")
        yield folder


def write_schema(folder: Path, schema: covey.Schema) -> None:
    lines = []
    for name, column in schema.columns.items():
        lines += [f"[columns.{name}]", f'role = "{column.role}"']
        if column.type is not None:
            lines.append(f'type = "{column.type}"')
        if column.type is ColumnType.CATEGORICAL:
            lines.append(f'taxonomy = "{name}.csv"')
    (folder / "schema.toml").write_text("\n".join(lines))


def hierarchies(rows: pl.DataFrame, schema: covey.Schema) -> Iterator[tuple[str, covey.Taxonomy]]:
    """A tree for every quasi-identifier; only anjana uses the trees of numbers."""
    for name, column in schema.quasi.items():
        values = rows[name].cast(pl.String).unique().to_list()
        if name in WIDTHS:
            yield name, taxonomy.intervals(values, *WIDTHS[name])
        else:
            yield name, column.taxonomy_over(values)


class FailedError(Exception):
    """The reason why there is no release."""


def run(who: Anonymizer, folder: Path, k: int, options: argparse.Namespace) -> dict[str, Any]:
    """Run it on the folder, and return what it reports about the run."""
    python = environment(options.venvs, who.packages)
    # -P: modules next to the runner must not replace others of the same name.
    command = (python, "-P", RUNNER, who.run, folder, str(k), str(options.memory))
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.limit)
    except subprocess.TimeoutExpired:
        raise FailedError(f"stopped after {options.limit:g} s") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or [f"exit {done.returncode}"]
        if "MemoryError" in said[-1]:
            raise FailedError(f"needs more than {options.memory:g} GiB")
        raise FailedError(said[-1][:120])
    about: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return about


@dataclass(frozen=True)
class Result:
    """One release: its cost and its quality."""

    run: str
    rows: int
    k: int
    used: str  # versions
    seconds: float
    cpu: float
    mebibytes: float
    suppressed: int
    holds: bool
    achieved: int
    total_il: float
    per_cell: float
    gcp: float

    def __str__(self) -> str:
        kept = f"yes, {self.achieved}" if self.holds else f"**no**, {self.achieved}"
        return (
            f"{self.cpu:.2f} | {self.seconds:.2f} | {self.mebibytes:,.0f} | {self.suppressed:,} | "
            f"{kept} | {self.total_il:,.0f} | {self.per_cell:.4f} | {self.gcp:.4f}"
        )


def judged(
    who: Anonymizer,
    rows: pl.DataFrame,
    schema: covey.Schema,
    folder: Path,
    k: int,
    about: dict[str, Any],
) -> Result:
    """Judge the release in the folder with covey's verifier and measures."""
    released = who.spell(pl.read_csv(folder / "released.csv", infer_schema=False), schema)
    verdict = covey.verify(released, schema, covey.KAnonymity(k))
    losses = covey.measure(rows, released, schema, k=k)
    assert losses.gcp is not None  # every taxonomy is declared
    return Result(
        who.run,
        rows.height,
        k,
        VERSIONS.format(**about),
        **{name: about[name] for name in ("seconds", "cpu", "mebibytes")},
        suppressed=losses.suppressed,
        holds=verdict.holds,
        achieved=verdict.k,
        total_il=losses.total_il,
        per_cell=1 - losses.precision,
        gcp=losses.gcp,
    )


# ── the table of results ────────────────────────────────────────────────────────────────────────

HEAD = """
| | rows | k | processor seconds | elapsed | MiB | suppressed | k-anonymous | Total-IL | per cell | GCP |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"""  # noqa: E501
VERSIONS = "version {version}, Python {python}, pandas {pandas}"


def compare(options: argparse.Namespace) -> list[Result]:
    """Run everyone on every size at every k, except those that failed on fewer rows."""
    everybody = tables.adult(options.data)
    schema = tables.adult_schema(options.data, flat=options.flat)
    known = Known(options.results)
    given_up: set[tuple[Anonymizer, int]] = set()
    for size in options.sizes:
        rows = everybody.sample(size, seed=0)
        for k, who in product(options.k, contenders(options.only)):
            if (who, k) in given_up:
                continue
            result: Result | FailedError | None = known.find(who, size, k)
            if result is None:
                with inputs(rows, schema) as folder:
                    try:
                        about = run(who, folder, k, options)
                        result = judged(who, rows, schema, folder, k, about)
                        known.add(result)
                    except FailedError as error:
                        given_up.add((who, k))
                        result = error
            cells = f"{result} | | | | | | |" if isinstance(result, FailedError) else f"{result}"
            print(f"| {who.label} | {size:,} | {k} | {cells} |", flush=True)
    print()
    for name, used in {package(result.run): result.used for result in known.results}.items():
        print(f"- {name}: {used}")
    return known.results


class Known:
    """The results so far, in a file if one is given, so that a long comparison can continue."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        self.results = [Result(**json.loads(line)) for line in lines]

    def find(self, who: Anonymizer, rows: int, k: int) -> Result | None:
        wanted = (who.run, rows, k)
        return next((r for r in self.results if (r.run, r.rows, r.k) == wanted), None)

    def add(self, result: Result) -> None:
        self.results.append(result)
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(asdict(result)) + "\n")


def package(name: str) -> str:
    return name.partition("-")[0]


def contenders(only: str | None) -> list[Anonymizer]:
    return [who for who in (*EFFORTS, *METHODS, *PEERS) if only in (None, package(who.run))]


# ── the picture ─────────────────────────────────────────────────────────────────────────────────


def draw(results: list[Result], folder: Path) -> None:
    """Draw loss against time, for the middle k on the largest number of rows."""
    ks = sorted({result.k for result in results})
    rows, k = max(result.rows for result in results), ks[len(ks) // 2]
    shown = [result for result in results if (result.rows, result.k) == (rows, k)]
    everyone = {who.run: who for who in contenders(None)}
    spots = [
        Spot(everyone[r.run].series, everyone[r.run].point, r.cpu, r.per_cell, not r.holds)
        for r in shown
    ]
    chart = scatter(
        spots,
        names=(OWN, PAPERS, OTHERS),
        own=OWN,
        x_title="processor seconds for one release, user and system (logarithmic)",
        y_title="information lost per cell (logarithmic)",
        y_label="round(100 * datum.value) + ' %'",
        head=charts.title(
            f"What a release of Adult loses, and what it takes, at k = {k}",
            f"{rows:,} people, 8 quasi-identifiers, one evaluator; further down and left is better"
            + ("" if all(r.holds for r in shown) else "; hollow: the release is not k-anonymous"),
        ),
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "peers.svg").write_text(charts.svg(chart), encoding="utf-8")


def main() -> None:
    options = arguments()
    with tempfile.TemporaryDirectory() as temporary:
        options.venvs = options.venvs or Path(temporary)
        trees = "flat" if options.flat else tables.taxonomies(options.data)
        print(f"Adult with {trees} taxonomies")
        print(HEAD, flush=True)
        results = compare(options)
    if options.picture is not None:
        draw(results, options.picture)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="covey beside other anonymizers of Python.")
    tables.add_data_option(parser)
    add = parser.add_argument
    add("--venvs", type=Path, metavar="FOLDER", help="keep the peers' environments here")
    add("--only", choices=("covey", "anonypy", "anonypyx", "anjana"), help="run only this package")
    add("--k", type=int, nargs="+", default=KS, metavar="K", help="values of k")
    add(
        "--results",
        type=Path,
        metavar="FILE",
        help="store results here, and run only what is missing",
    )
    add("--picture", type=Path, metavar="FOLDER", help="draw peers.svg there")
    add(
        "--sizes",
        type=int,
        nargs="+",
        default=SIZES,
        metavar="ROWS",
        help="numbers of rows, in ascending order",
    )
    add("--flat", action="store_true", help="flat taxonomies instead of ARX's")
    add("--limit", type=float, default=120.0, help="seconds for one run (default: 120)")
    add("--memory", type=float, default=12.0, help="GiB for one run (default: 12)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
