"""The papers' figures: their data, their claims, and what the experiments write."""

import gzip
import hashlib
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covey
from covey import demo
from covey.cli import main as cli
from covey.demo import census
from covey.errors import TableError, UsageError
from covey.report import charts
from covey.schema.taxonomy import from_nested
from covey_experiments import adult, figures, judging, page, running
from covey_experiments.data import Datasets, Places
from covey_experiments.figures import EXAMPLES, FIGURES, Figure, chosen
from covey_experiments.judging import Curve, Curves, Finding, Outcome, Verdict, judge
from covey_experiments.points import Key, Measurement, Store
from covey_experiments.running import Experiment

CANARY = "Zq7canary19"
OWN = "covey"  # the label of its line
ROWS = 200

# ── a table like Adult ──────────────────────────────────────────────────────────────────────────


def adult_rows(rows: int, seed: int = 0) -> pl.DataFrame:
    """People with Adult's columns and values, but otherwise unlike Adult."""
    random = np.random.default_rng(seed)
    leaves = {name: from_nested(tree).leaves for name, tree in adult.TREES.items()}
    columns: dict[str, Any] = {"age": random.integers(17, 91, rows)}
    columns |= {name: random.choice(values, rows) for name, values in leaves.items()}
    ranks = {word: rank for rank, word in enumerate(adult._SCHOOLING, start=1)}
    columns["education-num"] = [ranks[word] for word in columns["education"].tolist()]
    columns["salary"] = random.choice(["<=50K", ">50K"], rows)
    return pl.DataFrame(columns)


@pytest.fixture(scope="module")
def adult_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("adult") / "adult.csv"
    adult_rows(ROWS).write_csv(path)
    return path


def uci(frame: pl.DataFrame) -> str:
    """The same people as in UCI's own file: no header, a space after each comma."""
    others = {"fnlwgt": 1, "relationship": "Wife", "capital-gain": 0, "capital-loss": 0,
              "hours-per-week": 40}  # fmt: skip
    whole = frame.with_columns(pl.lit(value).alias(name) for name, value in others.items())
    lines = [", ".join(map(str, row)) for row in whole.select(adult._UCI).iter_rows()]
    return "\n".join(lines) + "\n\n"


# ── data ────────────────────────────────────────────────────────────────────────────────────────


def test_adult_is_read_in_all_its_forms(tmp_path: Path) -> None:
    frame = adult_rows(50)
    frame[3, "occupation"] = "?"
    expected = frame.filter(pl.col("occupation") != "?").select(adult.COLUMNS)
    written = {
        "header.csv": frame.write_csv().encode(),
        "packed.csv.gz": gzip.compress(frame.write_csv().encode()),
        "adult.data": uci(frame).encode(),
        "other.csv": frame.rename({"sex": "Gender", "salary": "income", "native-country":
                                   "native.country"}).write_csv().encode(),
        "arx.csv": frame.drop("education-num").rename({"salary": "salary-class"}).write_csv(
            separator=";").encode(),
    }  # fmt: skip
    for name, data in written.items():
        (tmp_path / name).write_bytes(data)
        assert adult.read(tmp_path / name).equals(expected), name


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "UCI Adult is not a table"),
        (b"\x1f\x8b" + CANARY.encode(), "UCI Adult is not a table"),
        (f"age,{CANARY}\n3,4\n".encode(), "'education-num'"),
        (f"39, {CANARY}, 3\n".encode(), r"\b3 columns.*\b15\b"),
        (b"sex,gender,age\na,b,1\n", "same name"),
        (b",".join([b"age"] * 3) + b"\n1,2,3\n", "'education-num'|same name"),
    ],
)
def test_what_is_not_adult_is_refused(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "adult.csv"
    path.write_bytes(data)
    with pytest.raises(TableError, match=message) as refused:
        adult.read(path)
    assert CANARY not in str(refused.value)


def test_cells_that_are_no_numbers_are_counted_and_not_quoted(tmp_path: Path) -> None:
    frame = adult_rows(5).with_columns(pl.lit(CANARY).alias("age"))
    frame.write_csv(tmp_path / "adult.csv")
    with pytest.raises(TableError, match=r"\b5 cells.*numbers") as refused:
        adult.read(tmp_path / "adult.csv")
    assert CANARY not in str(refused.value)
    frame.with_columns(pl.lit("?").alias("race")).write_csv(tmp_path / "adult.csv")
    with pytest.raises(TableError, match=r"every row.*missing"):
        adult.read(tmp_path / "adult.csv")
    with pytest.raises(TableError, match=r"read.*UCI Adult"):
        adult.read(tmp_path / "nowhere.csv")


def test_the_packaged_adult_is_the_papers(uci_adult: pl.DataFrame) -> None:
    assert uci_adult.height == adult.COMPLETE
    for name, tree in adult.TREES.items():
        assert set(uci_adult[name]) <= set(from_nested(tree).leaves)


ADULT = b"39, all that stands in UCI's own file"


class Archive(BaseHTTPRequestHandler):
    """A server that serves what a test gives it."""

    answers: ClassVar[dict[str, bytes]] = {}

    def do_GET(self) -> None:
        data = self.answers.get(self.path)
        self.send_response(404 if data is None else 200)
        # The length that is told may be more than what comes.
        self.send_header("Content-Length", str(len(ADULT)))
        self.end_headers()
        self.wfile.write(data or b"")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bytes]]:
    """What is served at the address that Adult is fetched from."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Archive)
    thread = Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setattr(Archive, "answers", {})
    monkeypatch.setattr(adult, "ADDRESS", f"http://127.0.0.1:{server.server_port}/adult.data")
    monkeypatch.setattr(adult, "SHA_256", hashlib.sha256(ADULT).hexdigest())
    yield Archive.answers
    server.shutdown()
    server.server_close()
    thread.join()


def test_adult_is_downloaded_once(archive: dict[str, bytes], tmp_path: Path) -> None:
    archive["/adult.data"] = ADULT
    path = adult.downloaded(tmp_path)
    assert path.read_bytes() == ADULT
    archive.clear()  # there is no need to ask again
    assert adult.downloaded(tmp_path) == path
    path.write_bytes(b"somebody wrote into it")
    archive["/adult.data"] = ADULT
    assert adult.downloaded(tmp_path).read_bytes() == ADULT


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "could not be downloaded"),
        (b"", "could not be downloaded|checksum"),
        (ADULT[:-1], "could not be downloaded|checksum"),
        (ADULT.replace(b"39", b"38"), "checksum"),
    ],
)
def test_what_is_downloaded_is_adult_or_nothing(
    answer: bytes | None, message: str, archive: dict[str, bytes], tmp_path: Path
) -> None:
    if answer is not None:
        archive["/adult.data"] = answer
    with pytest.raises(UsageError, match=message) as refused:
        adult.downloaded(tmp_path)
    assert "127.0.0.1" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_without_a_network_one_is_told_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(adult, "ADDRESS", "http://127.0.0.1:9/adult.data")  # nobody listens
    assert cli.run(["experiment", "byun-6", "--download", "-o", str(tmp_path)]) == 2
    assert "--adult" in capfd.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_downloaded_adult_is_known_by_its_checksum(
    adult_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Datasets(Places(adult=adult_file))["adult-8"].origin
    assert "the user’s file" in told
    digest = hashlib.sha256(adult_file.read_bytes()).hexdigest()
    monkeypatch.setattr(adult, "SHA_256", digest)
    assert "UCI’s own file" in Datasets(Places(adult=adult_file))["adult-8"].origin


def test_without_the_package_one_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(adult, "distribution", absent)
    with pytest.raises(UsageError, match=r"covey\[experiments\].*--adult"):
        adult.packaged()


@pytest.mark.parametrize(("make", "sizes"), [(demo.sal, census.SAL), (demo.income, census.INCOME)])
def test_invented_people_have_the_domains_of_the_paper(make: Any, sizes: dict[str, int]) -> None:
    people = make(100_000)
    assert {name: people[name].n_unique() for name in people.columns} == sizes
    assert people.equals(make(100_000))
    assert not people.equals(make(100_000, seed=1))
    assert people.n_unique() < 100_000  # some are alike


def test_invented_people_hang_together() -> None:
    people = demo.income(30_000)
    grown = pl.col("age").is_between(30, 50)
    (young,), (old,) = (
        people.filter(which).select(pl.mean("education"), (pl.col("marital") == 0).mean()).rows()
        for which in (pl.col("age") < 22, grown)
    )
    assert (young[0] + 2 < old[0], young[1] < old[1]) == (True, True)
    by_school = people.group_by("education").agg(pl.col("occupation").mean()).sort("education")
    assert by_school["occupation"][0] < by_school["occupation"][-1]


IPUMS = {"AGE": [20, 30, 40], "SEX": [1, 2, 1], "EDUC": [1, 2, 3], "EDUCD": [101, 25, 30],
         "MARST": [1, 6, 1], "RACE": [1, 1, 2], "CLASSWKR": [2, 2, 1], "BPL": [1, 1, 200],
         "OCC": [10, 500, 20]}  # fmt: skip


def test_an_extract_of_ipums_is_read(tmp_path: Path) -> None:
    path = tmp_path / "usa.csv"
    pl.DataFrame(IPUMS).write_csv(path)
    sal, income = (Datasets(Places(ipums=path))[name] for name in ("sal", "income"))
    assert list(sal.quasi) == list(census.SAL)
    assert list(income.quasi) == list(census.INCOME)
    assert "IPUMS" in sal.origin
    ages = sal.frame["age"].to_list()
    ranks = dict(zip(ages, sal.frame["education"].to_list(), strict=True))
    assert ranks == {20: 3, 30: 1, 40: 2}  # the detailed column, by the order of its codes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"OCC": None}, "column 'OCC'.*IPUMS"),
        ({"EDUC": None, "EDUCD": None}, "column 'EDUCD'.*IPUMS"),
        ({"RACE": ["1", CANARY, ""]}, r"'RACE' of the IPUMS extract.*\b2 rows"),
    ],
)
def test_a_poor_extract_is_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    columns = {name: cells for name, cells in (IPUMS | change).items() if cells is not None}
    pl.DataFrame(columns).write_csv(tmp_path / "usa.csv")
    with pytest.raises(TableError, match=message) as refused:
        Datasets(Places(ipums=tmp_path / "usa.csv"))["income"]
    assert CANARY not in str(refused.value)


def census_rows(rows: int) -> pl.DataFrame:
    """People with the census' columns and codes, but otherwise unlike the census."""
    random = np.random.default_rng(0)
    codes = {"age": 96, "gender": 2, "education": 24, "marital": 5, "race": 9, "workclass": 8,
             "hispanic_origin": 24, "occupation": 9_000, "income": 10**6}  # fmt: skip
    return pl.DataFrame({name: random.integers(1, most, rows) for name, most in codes.items()})


@pytest.mark.parametrize(("whose", "rows"), [("invented", 500), ("census", 600_000)])
def test_the_census_stands_in_for_the_tables_of_the_paper(
    whose: str, rows: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path = tmp_path / "census.csv.gz"
    if whose == "census":
        path = request.getfixturevalue("shared_data") / "census" / "acs2024_600k.csv.gz"
    else:
        path.write_bytes(gzip.compress(census_rows(rows).write_csv().encode()))
    sources = Datasets(Places(census=path))
    assert sources["sal"].frame.height == sources["income"].frame.height == rows
    assert len(sources["sal"].quasi) == len(sources["income"].quasi) == 6


def test_a_fingerprint_is_of_cells_columns_and_trees(adult_file: Path, tmp_path: Path) -> None:
    sources = Datasets(Places(adult=adult_file))
    whole = sources["adult-8"].part(None, None)
    again = Datasets(Places(adult=adult_file))["adult-8"].part(ROWS, 8)
    assert whole.fingerprint == again.fingerprint
    others = [sources["adult-8"].part(ROWS - 1, None), sources["adult-8"].part(None, 7),
              sources["adult-6"].part(None, None)]  # fmt: skip
    changed = adult_rows(ROWS)
    changed[0, "age"] = int(changed[0, "age"]) + 1
    changed.write_csv(tmp_path / "changed.csv")
    others.append(Datasets(Places(adult=tmp_path / "changed.csv"))["adult-8"].part(None, None))
    flat = replace(sources["adult-8"], quasi=sources["adult-8"].quasi | {"race": {"type":
                   "categorical", "taxonomy": from_nested({"*": ["Black", "Other", "White",
                   "Amer-Indian-Eskimo", "Asian-Pac-Islander"]})}})  # fmt: skip
    others.append(flat.part(None, None))
    prints = [part.fingerprint for part in (whole, *others)]
    assert len(set(prints)) == len(prints)


# ── verdicts ────────────────────────────────────────────────────────────────────────────────────


def curves(**lines: Sequence[float]) -> dict[str, Curve]:
    """Made-up points at 1, 2, 3, …, of groups as large as y."""
    return {
        name: Curve(tuple(float(x) for x in range(1, len(y) + 1)), tuple(y), tuple(y), tuple(y),
                    sizes=tuple(y))
        for name, y in lines.items()
    }  # fmt: skip


@pytest.mark.parametrize(
    ("part", "holds", "in_part", "fails"),
    [
        (judging.below("a", "b"), ([1, 1], [2, 2]), ([1, 3], [2, 2]), ([2, 3], [2, 2])),
        (judging.below("a", "b", of=[2]), ([9, 1], [2, 2]), None, ([1, 3], [2, 2])),
        (judging.above("a", "b"), ([3, 3], [2, 2]), ([1, 3], [2, 2]), ([2, 1], [2, 2])),
        (judging.near("a", "b", 0.1), ([1.05, 1], [1, 1]), ([1.2, 1], [1, 1]), ([3, 3], [1, 1])),
        (judging.rises("a"), ([1, 2, 3], []), ([1, 3, 2], []), ([3, 3, 2], [])),
        (judging.falls("a"), ([3, 2, 1], []), ([1, 3, 2], []), ([1, 1, 2], [])),
        (judging.erratic("a"), ([1, 3, 2], []), None, ([1, 2, 3], [])),
        (judging.straight("a"), ([1, 2, 3], []), None, ([1, 2, 1], [])),
        (judging.straight("a"), ([2, 3, 4.1], []), None, ([1, 9, 8], [])),
        (judging.straight("a"), ([1, 2, 3], []), None, ([3, 2, 1], [])),
        (judging.straight("a"), ([1, 2, 3], []), None, ([2, 2, 2], [])),
        (judging.holds_up("a"), ([1, 1, 2], []), ([1, 2, 1], []), ([3, 2, 1], [])),
        (judging.groups_of_k("a", 0.1), ([1, 2, 3.2], []), ([1, 2, 4], []), ([2, 4, 6], [])),
        (judging.gain_steady("a", "b", 0.1), ([1.3, 1.4], [1, 1]), None, ([1.2, 1.4], [1, 1])),
        (judging.power("a", 1.7, 2.3), ([1, 4, 9], []), None, ([1, 2, 3], [])),
        (judging.ratio_below(("a", "b"), ("b", "a")), ([1, 2], [2, 3]), ([1, 4], [2, 3]),
         ([2, 3], [1, 3])),
        (judging.at_most("a", 5, "s"), ([5, 1], []), ([5.1, 1], []), ([6, 7], [])),
        (judging.gain("a", "b", 0.3, 0.4), ([1.3, 1.4], [1, 1]), ([1.2, 1.35], [1, 1]),
         ([1, 2], [1, 1])),
        (judging.gain_reaches("a", "b", 0.2, 0.05), ([1, 1.2], [1, 1]), None, ([1, 1], [1, 1])),
        (judging.gain_widens("a", "b"), ([1, 2, 3], [1, 1, 1]), ([1, 3, 2], [1, 1, 1]),
         ([2, 1, 1], [1, 1, 1])),
        (judging.spread_shrinks(["a", "b"]), ([1, 1], [5, 2]), None, ([1, 1], [2, 2])),
        (judging.spread_widens(["a", "b"]), ([1, 1], [2, 5]), None, ([1, 1], [2, 2])),
        (judging.best("a", ["b"], low=True), ([1, 1], [2, 2]), ([1, 3], [2, 2]), ([2, 2], [2, 2])),
        (judging.best("a", ["b"], low=False), ([3, 3], [2, 2]), ([1, 3], [2, 2]), ([2, 2], [2, 2])),
    ],
)  # fmt: skip
def test_a_part_of_a_claim_holds_everywhere_somewhere_or_nowhere(
    part: judging.Part, holds: Any, in_part: Any, fails: Any
) -> None:
    for points, outcome in ((holds, Outcome.HOLDS), (in_part, Outcome.IN_PART),
                            (fails, Outcome.FAILS)):  # fmt: skip
        if points is not None:
            finding = part(curves(a=points[0], **({"b": points[1]} if points[1] else {})))
            assert finding.outcome is outcome, finding
            assert finding.says.endswith(".")


def test_a_verdict_is_that_of_its_parts_where_they_agree() -> None:
    yes, half, no = Finding("a.", 1.0), Finding("b.", 0.5), Finding("c.", 0.0)
    assert Verdict((yes, yes)).outcome is Outcome.HOLDS
    assert Verdict((no, no)).outcome is Outcome.FAILS
    assert Verdict((yes, no)).outcome is Outcome.IN_PART
    assert Verdict((half,)).outcome is Outcome.IN_PART
    assert Verdict(()).outcome is Outcome.OPEN


def figure_named(name: str) -> Figure:
    return chosen([name])[0][0]


_N, _LINE, _OWN_3A = np.arange(5, 31, 5), np.linspace(0.1, 0.2, 5), np.linspace(0.95, 0.7, 10)
BYUN_10 = {"k-member": _N, "modified k-member": _N * 1.05, "Mondrian": _N * 2, OWN: _N / 2}
BENT = {"k-member": _N**4, "Mondrian": _N**4 / 2, "modified k-member": _N**4 / 3}
DOMAINS = {
    "CB on SAL": _LINE, "CB on INCOME": _LINE * 1.1, "NH on SAL": _LINE,
    "NH on INCOME": _LINE * 1.5, "covey on SAL": _LINE, "covey on INCOME": _LINE,
}  # fmt: skip
DOWN = np.linspace(0.5, 0.1, 5)
HE_8 = {"CB": DOWN, "NH": DOWN + 0.1, OWN: DOWN}
# With a gain on OKA that is steady, and on IKAC that widens to 20.7 %.
WANG_3 = {
    "KACPC": _OWN_3A, "IKAC": _OWN_3A / np.linspace(1.01, 1.207, 10), "OKA": _OWN_3A / 1.35,
    "MDAV": np.linspace(0.5, 0.6, 10), "GAA-CP": _OWN_3A / 1.5, OWN: _OWN_3A * 1.05,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "lines", "outcome", "last"),
    [
        ("byun-10", BYUN_10, Outcome.HOLDS, []),
        ("byun-10", BYUN_10 | {"Mondrian": _N / 2}, Outcome.IN_PART, []),
        ("byun-10", BYUN_10 | BENT, Outcome.FAILS, []),
        ("he-6-domains", DOMAINS, Outcome.HOLDS, []),
        ("he-6-domains", DOMAINS | {"CB on INCOME": _LINE * 1.6}, Outcome.IN_PART, [1, 0]),
        ("he-8a", HE_8, Outcome.HOLDS, []),
        ("he-8a", HE_8 | {"CB": HE_8["NH"], "NH": HE_8["CB"]}, Outcome.IN_PART, []),
        ("he-8a", {"CB": DOWN[::-1] + 0.4, "NH": DOWN[::-1], OWN: DOWN}, Outcome.FAILS, []),
        ("wang-3a", WANG_3, Outcome.HOLDS, []),
        ("wang-3a", WANG_3 | {"OKA": _OWN_3A / 1.1}, Outcome.IN_PART, [0, 1]),
        ("wang-3a", WANG_3 | {"OKA": _OWN_3A / np.linspace(1.1, 1.35, 10)}, Outcome.IN_PART,
         [0.2, 0]),
    ],
)  # fmt: skip
def test_claims_on_made_up_points(
    name: str, lines: dict[str, Any], outcome: Outcome, last: list[float]
) -> None:
    """The outcome, and the shares of the points at which the last parts hold."""
    figure = figure_named(name)
    x = tuple(float(place) for place in figure.grid.full)
    verdict = judge(figure.parts, {line: Curve(x, tuple(y)) for line, y in lines.items()})
    assert verdict.outcome is outcome
    shares = [finding.share for finding in verdict.findings]
    assert shares[len(shares) - len(last) :] == last


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
@given(data=st.data())
def test_every_claim_can_be_judged_on_any_points(figure: Figure, data: st.DataObject) -> None:
    places = figure.places(quick=data.draw(st.booleans()))
    heights = st.lists(st.floats(1e-6, 1e9), min_size=len(places), max_size=len(places))
    x = tuple(float(place) for place in places)
    drawn = {line.label: Curve(x, tuple(data.draw(heights)), sizes=x) for line in figure.lines}
    verdict = judge(figure.parts, drawn)
    assert verdict.findings
    assert all(0 <= finding.share <= 1 for finding in verdict.findings)
    without = drawn | {figure.own.label: Curve((), ())}
    assert judge(figure.parts, without).outcome is Outcome.OPEN


def test_worked_examples_come_out_as_known() -> None:
    outcomes = {example.name: example.work().verdict.outcome for example in EXAMPLES}
    assert outcomes == {
        "he-tables": Outcome.IN_PART,  # one start for each split is not always a good one
        "he-theorem": Outcome.FAILS,
        "wang-1": Outcome.HOLDS,
        "wang-complexity": Outcome.FAILS,
    }


def test_every_figure_of_the_papers_is_there() -> None:
    names = {figure.name for figure in FIGURES}
    assert names == {
        *(f"byun-{n}" for n in range(6, 12)),
        *(f"he-6{letter}" for letter in "abcdefgh"),
        "he-6-domains",  # what the text says of both tables
        *(f"he-{n}{letter}" for n in (7, 8, 9) for letter in "ab"),
        *(f"wang-{n}{letter}" for n in range(3, 8) for letter in "ab"),
    }
    assert all(figure.own.method.partition(":")[0] == "covey" for figure in FIGURES)
    assert all(len(figure.grid.quick) >= 3 for figure in FIGURES)


def test_experiments_are_named_by_paper_figure_or_part() -> None:
    def names(*requested: str) -> list[str]:
        return [item.name for items in chosen(requested) for item in items]

    assert len(names("all")) == len(FIGURES) + len(EXAMPLES)
    assert names("byun-10") == ["byun-10"]
    assert names("wang-3") == ["wang-3a", "wang-3b"]
    assert names("he-7b", "he-7b") == ["he-7b"]
    assert names("wang-1") == ["wang-1"]
    assert "he-theorem" in names("he")
    for wrong in (["byun-1"], [""], ["byun-66"], ["Byun"], []):
        with pytest.raises(UsageError, match="covey experiment list"):
            names(*wrong)


# ── running ─────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Two figures that share their runs, of few points."""
    monkeypatch.setattr(running, "QUICK_RUNS", 2)
    grid = figures.Grid((3, 5), (3, 5))
    return [replace(figure, grid=grid) for figure in chosen(["byun-6", "byun-9"])[0]]


RUNS_OF_SMALL = 2 * (1 + 3 * 2)  # two k; Mondrian once, three others twice


def experiment(figures: list[Figure], file: Path, folder: Path) -> Experiment:
    sources = Datasets(Places(adult=file))
    return Experiment(figures, sources, Store(folder / "points.csv"), quick=True)


class Formed:
    """Counts how often groups are formed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        form = covey.cluster

        def counted(*arguments: Any, **options: Any) -> Any:
            self.times += 1
            return form(*arguments, **options)

        monkeypatch.setattr(covey, "cluster", counted)


@pytest.mark.slow
def test_an_interrupted_run_goes_on_where_it_was_and_none_is_done_twice(
    small: list[Figure], adult_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Figures share their runs; another input or version has runs of its own."""
    formed = Formed(monkeypatch)
    stages = set()

    def impatient(stage: str, _done: float) -> None:
        stages.add(stage)
        if len(stages) > 5:
            raise KeyboardInterrupt

    first = experiment(small, adult_file, tmp_path)
    assert len(first.missing()) == RUNS_OF_SMALL
    with pytest.raises(KeyboardInterrupt):
        first.run(first.missing(), impatient)
    kept = len(Store(tmp_path / "points.csv"))
    assert 4 <= kept < RUNS_OF_SMALL
    assert first.drawn()[0].verdict.outcome is Outcome.OPEN
    # A crash in the middle of a line, too, costs no more than that line.
    with (tmp_path / "points.csv").open("ab") as file:
        file.write(b"0.1.0,abc,k-mem")
    formed.times = 0
    second = experiment(small, adult_file, tmp_path)
    second.run(second.missing())
    assert formed.times == RUNS_OF_SMALL - kept
    assert len(Store(tmp_path / "points.csv")) == RUNS_OF_SMALL
    again = experiment(small, adult_file, tmp_path)
    assert again.missing() == []
    drawn = again.drawn()
    assert [d.verdict.outcome is not Outcome.OPEN for d in drawn] == [True, True]
    assert drawn[0].curves["k-member"].runs == 2
    assert drawn[0].curves["Mondrian"].runs == 1
    assert f"n = {ROWS}" in drawn[0].setting
    run_is_what_the_release_loses(adult_file, Store(tmp_path / "points.csv"))
    adult_rows(ROWS, seed=1).write_csv(tmp_path / "other.csv")
    assert len(experiment(small, tmp_path / "other.csv", tmp_path).missing()) == RUNS_OF_SMALL
    monkeypatch.setattr(running, "version", lambda _: "99.0")
    assert len(experiment(small, adult_file, tmp_path).missing()) == RUNS_OF_SMALL


def run_is_what_the_release_loses(adult_file: Path, store: Store) -> None:
    """By the pipeline itself, on the same rows in the same order."""
    part = Datasets(Places(adult=adult_file))["adult-8"].part(None, None)
    groups = covey.cluster(
        part.frame, part.schema, k=5, method="k-member", seed=1, class_column="salary", penalty=0
    )
    run = store[Key(version("covey"), part.fingerprint, "k-member:penalty=0", 5, 1)]
    assert (run.groups, run.largest) == (groups.count, int(groups.sizes.max()))
    labels = groups.labels.tolist()
    ages = part.frame["age"].to_list()
    spans = {g: [a for a, x in zip(ages, labels, strict=True) if x == g] for g in set(labels)}
    width = max(ages) - min(ages)
    lost = sum(len(group) * (max(group) - min(group)) / width for group in spans.values())
    assert lost < run.total_il < 8 * ROWS
    assert run.precision == pytest.approx(1 - run.total_il / (8 * ROWS))


def run_of(seed: int, **changes: Any) -> Measurement:
    plain = Measurement(
        "1", "ab", "oka", 5, seed, "adult-6", 10, 2, 2, 5, 1.5, 0.1, 0.9, None, None, 0.5, 0.25
    )
    return replace(plain, **changes)


def test_runs_come_back_from_the_file_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    runs = [run_of(1), run_of(2, discernibility=7, classification=1 / 3), run_of(3, method="a,b")]
    store = Store(path)
    for run in runs:
        store.add(run)
    again = Store(path)
    assert [again[run.key] for run in runs] == runs
    assert run_of(9).key not in again


@pytest.mark.parametrize("data", [b"a,b\n1,2\n", b"\xff\xfe\n", b"covey\n"])
def test_a_file_of_another_kind_is_not_written_over(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=r"points\.csv"):
        Store(path)
    assert path.read_bytes() == data


# ── the page ────────────────────────────────────────────────────────────────────────────────────


class Seen(HTMLParser):
    """What a browser would see: ids, pictures, addresses, headings."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.alts: list[str | None] = []
        self.headings: list[int] = []
        self.tags: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append(tag)
        self.ids += [found["id"] or ""] if "id" in found else []
        self.addresses += [v or "" for n, v in attrs if n in ("src", "href", "srcset", "action")]
        self.alts += [found.get("aria-label")] if tag == "svg" else []
        self.headings += [int(tag[1])] if tag in ("h1", "h2", "h3", "h4") else []

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.fixture(scope="module")
def ran(adult_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a quick run of a small selection, by the command line."""
    folder = tmp_path_factory.mktemp("experiments")
    names = ("byun-6", "byun-8", "wang-5a", "wang-1", "he-theorem")
    arguments = ["experiment", *names, "--quick", "--adult", str(adult_file), "-o", str(folder)]
    assert cli.run(arguments) == 0
    return folder


@pytest.mark.slow
def test_a_quick_run_writes_points_pictures_and_a_page(ran: Path) -> None:
    drawn = ("byun-6", "byun-8", "wang-5a")
    expected = {f"{name}{ending}" for name in drawn for ending in (".png", ".svg")}
    assert {path.name for path in ran.iterdir()} == {
        *expected, "points.csv", "summary.csv", "index.html"
    }  # fmt: skip
    points = pl.read_csv(ran / "points.csv")
    assert points.height == 3 * (1 + 4 * 3) + 3 * (2 + 4 * 3)
    summary = pl.read_csv(ran / "summary.csv")
    assert summary.height == 3 * (4 + 5) + 3 * 6
    for figure, line, measure in (("byun-6", "k-member", "total_il"),
                                  ("wang-5a", "OKA", "precision")):  # fmt: skip
        rows = summary.filter(pl.col("figure") == figure, pl.col("line") == line).sort("x")
        spec = next(li.method for li in figure_named(figure).lines if li.label == line)
        axis = figure_named(figure).x
        own = points.filter(pl.col("method") == spec, pl.col("table") == figure_named(figure).table)
        for x, mean, least, most in rows.select("x", "mean", "least", "most").iter_rows():
            values = own.filter(pl.col(axis) == x, (pl.col("k") == 50) | (axis == "k"))[measure]
            assert len(values) == 3
            assert mean == pytest.approx(sum(values) / 3)
            assert (least, most) == (min(values), max(values))


@pytest.mark.slow
def test_a_quick_run_of_everything_measures_every_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for each point, of a tenth of the rows; repeated runs and pictures are tested above."""
    places = Figure.places

    def tenth(figure: Figure, *, quick: bool) -> tuple[int, ...]:
        own = places(figure, quick=quick)
        return tuple(x // 10 for x in own) if figure.x == "rows" else own

    rows = {table: rows // 10 for table, rows in figures.QUICK_ROWS.items()}
    assert max(x for f in FIGURES if f.x == "k" for x in f.grid.quick) <= min(rows.values())
    monkeypatch.setattr(Figure, "places", tenth)
    monkeypatch.setattr(figures, "QUICK_ROWS", rows)
    monkeypatch.setattr(running, "QUICK_RUNS", 1)
    monkeypatch.setattr(charts, "picture", lambda *_: b"drawn")
    monkeypatch.setattr("covey_experiments.data.HE_ROWS", 3_000)
    (tmp_path / "people.csv").write_bytes(adult_rows(300).write_csv().encode())
    out = tmp_path / "out"
    request = ["all", "--quick", "--adult", str(tmp_path / "people.csv"), "-o", str(out)]
    assert cli.run(["experiment", *request]) == 0
    text = (out / "index.html").read_text(encoding="utf-8")
    assert "not measured yet" not in text
    assert "too few rows" not in text
    points = pl.read_csv(out / "summary.csv")
    assert set(points.select("figure", "line", "x").iter_rows()) == {
        (figure.name, line.label, x)
        for figure in FIGURES
        for line in figure.lines
        for x in figure.places(quick=True)
    }
    assert all((out / f"{f.name}{end}").exists() for f in FIGURES for end in charts.PICTURES)


@pytest.mark.slow
def test_the_page_asks_nobody_and_tells_everything(ran: Path) -> None:
    text = (ran / "index.html").read_text(encoding="utf-8")
    seen = Seen(text)
    assert {"byun-6", "byun-8", "wang-5a", "wang-1", "he-theorem"} <= set(seen.ids)
    assert len(seen.ids) == len(set(seen.ids))
    assert seen.addresses
    assert all(a[0] == "#" and a[1:] in seen.ids for a in seen.addresses)
    assert not {"script", "link", "iframe", "object", "img"} & set(seen.tags)
    assert seen.tags.count("main") == 1
    assert "url(" not in text
    assert "@import" not in text
    assert len(seen.alts) == 3
    assert all(alt and "covey from" in alt for alt in seen.alts)
    assert seen.headings[0] == 1
    assert seen.headings.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(seen.headings, seen.headings[1:],
                                                             strict=False))  # fmt: skip
    for name in ("byun-6", "byun-8", "wang-5a"):
        assert figure_named(name).claim in " ".join(seen.words.split())
    assert "does not hold" in seen.words  # Theorem 3
    assert f"the user’s file, {ROWS} rows" in seen.words.replace("'", "’")
    assert "covey experiment byun-6 byun-8 wang-5a wang-1 he-theorem --quick --adult adult.csv" in (
        seen.words
    )
    assert str(ran) not in text


@pytest.mark.slow
def test_pictures_are_pictures(ran: Path) -> None:
    assert (ran / "byun-6.png").read_bytes().startswith(b"\x89PNG")
    picture = (ran / "byun-6.svg").read_text(encoding="utf-8")
    assert picture.startswith("<svg")
    assert "Total-IL" in picture
    assert "modified k-member" in picture
    assert "href" not in picture


def test_what_was_not_measured_is_said_to_be_open(adult_file: Path, tmp_path: Path) -> None:
    task = experiment(chosen(["byun-7"])[0], adult_file, tmp_path)
    told = page.Circumstances("2025-01-01", "covey experiment <byun-7>", "a machine", True, 3)
    written = page.write(tmp_path, page.Results(task.drawn(), (), told))
    seen = Seen(written.read_text(encoding="utf-8"))
    assert "not measured yet" in seen.words
    assert "<byun-7>" in seen.words  # as text
    assert seen.alts == []


def test_tables_too_small_for_a_place_leave_it_out(adult_file: Path, tmp_path: Path) -> None:
    task = experiment(chosen(["byun-10"])[0], adult_file, tmp_path)
    assert task.missing() == []
    drawn = task.drawn()[0]
    assert drawn.left_out == (1_000, 2_000, 3_000)
    assert "too few rows for n\xa0=\xa01,000" in page._drawn(drawn, None)


def test_the_own_method_is_set_beside_the_best_of_the_others() -> None:
    loss, precision, time = (figure_named(name) for name in ("byun-6", "wang-3a", "wang-3b"))

    def lines(figure: Figure) -> Curves:
        heights = [[10, 20], [8, 30], *[[9, 25]] * (len(figure.lines) - 3), [4, 10]]
        labels = [line.label for line in figure.lines]
        return curves(**dict(zip(labels, heights, strict=True)))

    assert "−50.0\xa0% to −50.0\xa0% in Total-IL" in page.standing(loss, lines(loss))
    told = page.standing(precision, lines(precision))
    assert "−66.7\xa0% to −60.0\xa0% in precision" in told
    assert "4 to 10 s" in page.standing(time, lines(time))


def test_on_two_tables_the_own_method_is_set_beside_others_on_its_own() -> None:
    figure = figure_named("he-6-domains")
    ones = {f"{method} on SAL": [1, 1] for method in ("CB", "NH", "covey")}
    heights = ones | {"CB on INCOME": [4, 4], "NH on INCOME": [5, 3], "covey on INCOME": [2, 3]}
    told = page.standing(figure, curves(**heights))
    assert "−50.0\xa0% to +0.0\xa0% in GCP" in told


# ── pictures ────────────────────────────────────────────────────────────────────────────────────


def test_no_two_lines_look_alike_even_without_colour() -> None:
    looks = [*charts._LOOKS, charts._OWN]
    assert len({look.colour for look in looks}) == len({look.mark for look in looks}) == len(looks)
    others = [tuple(look.dash) for look in charts._LOOKS]
    assert len(set(others)) == len(others)


def brightness(colour: str) -> float:
    """Relative luminance, as WCAG defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def colours_of_the_page(light: str) -> dict[str, str]:
    """The style sheet's colours by their names, in the dark where it says so."""
    style = files("covey").joinpath("page.css").read_text(encoding="utf-8")
    blocks = re.findall(r":root \{(.*?)\}", style, flags=re.DOTALL)
    assert len(blocks) == 3  # light, dark, print
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", blocks[("light", "dark").index(light)]))


@pytest.mark.parametrize("light", ["light", "dark"])
@pytest.mark.parametrize("look", [*charts._LOOKS, charts._OWN], ids=lambda look: look.colour)
def test_lines_stand_out_from_light_and_dark_pages(look: Any, light: str) -> None:
    style = files("covey").joinpath("page.css").read_text(encoding="utf-8")
    shown = {
        re.findall(rf'svg \[{what}="{look.colour}"\] {{ {what}: var\(--([\w-]+)\); }}', style)[0]
        for what in ("fill", "stroke")
    }
    assert len(shown) == 1
    colours = colours_of_the_page(light)
    line, paper = brightness(colours[shown.pop()]) + 0.05, brightness(colours["paper"]) + 0.05
    assert max(line / paper, paper / line) >= 4.5


def test_on_light_pages_lines_are_shown_as_they_are_drawn() -> None:
    assert {look.colour for look in (*charts._LOOKS, charts._OWN)} <= set(
        colours_of_the_page("light").values()
    )


def test_every_colour_of_the_lines_is_known_to_the_style() -> None:
    points = [charts.ChartPoint(line, x, x, x, x + 1.0) for line in "abcdef" for x in (1.0, 2.0)]
    drawn = charts.lines(points, names="abcdef", x_title="k", y_title="loss",
                         background="transparent")  # fmt: skip
    style = files("covey").joinpath("page.css").read_text(encoding="utf-8")
    used = set(re.findall(r'(fill|stroke)="(#[0-9a-f]{3,6}|white|black)"', charts.svg(drawn)))
    assert {look.colour for look in charts._LOOKS} <= {colour for _, colour in used}
    assert [pair for pair in used if '[{}="{}"]'.format(*pair) not in style] == []


# ── the command line ────────────────────────────────────────────────────────────────────────────


def test_experiments_are_listed(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["experiment", "list"]) == 0
    shown = capfd.readouterr().out
    assert all(f"{figure.name} " in shown for figure in FIGURES)
    assert all(f"{example.name} " in shown for example in EXAMPLES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "'nothing'"),
        ([], "Missing argument"),
        (["he-6a", "--ipums", "a.csv", "--census", "b.csv"], "--ipums or --census"),
        (["byun-6", "--adult", "a.csv", "--download"], "--adult or --download"),
        (["he-6a", "--ipums", "a.csv"], "IPUMS extract"),
        (["byun-6", "--adult", "nowhere.csv"], "UCI Adult"),
        (["wang-1", "-o", "taken"], "the output"),
    ],
)
def test_wrong_requests_are_refused(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("a file")
    assert cli.run(["experiment", *arguments]) == 2
    assert message in capfd.readouterr().err
    assert not (tmp_path / "covey-experiments" / "index.html").exists()


def test_without_the_package_of_the_figures_one_is_told_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("covey_experiments")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "covey_experiments", None)  # cannot be imported
    assert cli.run(["experiment", "list"]) == 2
    assert "covey_experiments" in capfd.readouterr().err


def test_without_charts_nothing_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(charts, "available", lambda: False)
    assert cli.run(["experiment", "wang-1"]) == 2
    assert "covey[charts]" in capfd.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_interrupted_the_command_still_writes_its_page(
    adult_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = count()
    form = covey.cluster

    def interrupted(*arguments: Any, **options: Any) -> Any:
        if next(calls) == 4:
            raise KeyboardInterrupt
        return form(*arguments, **options)

    monkeypatch.setattr(covey, "cluster", interrupted)
    arguments = ["experiment", "byun-6", "--quick", "--adult", str(adult_file), "-o", str(tmp_path)]
    assert cli.run(arguments) == 130
    assert "not measured yet" in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert len(Store(tmp_path / "points.csv")) == 4
