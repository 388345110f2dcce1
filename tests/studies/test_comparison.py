"""Methods side by side: every figure comes from a verified release."""

import io
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from rich.console import Console

import covey
from command_line import Folder, Ran
from covey import demo
from covey.cli import shown as display
from covey.clustering import METHODS, Method
from covey.encoding import EncodedTable
from covey.schema.requirements import KAnonymity
from covey.studies import comparison

ROWS = 90
CLASSES = "diagnosis"
K_MEMBERS = ["k-member", "k-member:seed_ref=random", "k-member:penalty=2.5"]
linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is known on Linux alone")


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return demo.people(ROWS)


def add_method(
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    act: Callable[[EncodedTable, int], object] = lambda *_: None,
) -> None:
    """Make known a method that does something and then puts all rows into one group."""

    def function(
        table: EncodedTable, k: int, *, seed: int, progress: Any, **options: Any
    ) -> covey.Groups:
        """Everybody together."""
        act(table, k)
        return covey.Groups(np.zeros(table.rows, dtype=np.int64))

    monkeypatch.setitem(METHODS, name, Method(name, function, "", ""))


def refuse(error: BaseException, at: int | None = None) -> Callable[[EncodedTable, int], None]:
    """Raise for one k or all."""

    def act(table: EncodedTable, k: int) -> None:
        if at in (None, k):
            raise error

    return act


# ── figures ─────────────────────────────────────────────────────────────────────────────────────


def release_of(frame: pl.DataFrame, run: comparison.Run, **settings: Any) -> covey.Release:
    require = KAnonymity(run.k)
    return covey.anonymize(
        frame, demo.schema(), require=require, method=run.name, **settings, **run.options
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", [None, 7])
def test_a_run_is_what_anonymize_gives(people: pl.DataFrame, seed: int | None) -> None:
    found = covey.compare(people, demo.schema(), k=[4, 6], methods=K_MEMBERS, seed=seed)
    asked = [(method, k) for k in (4, 6) for method in K_MEMBERS]
    assert [(run.method, run.k) for run in found.runs] == asked
    for run in found.runs:
        release = release_of(people, run, seed=seed)
        assert (run.losses, run.verdict) == (release.report.losses, release.verdict)
        assert (run.rows, run.groups) == (release.report.rows, release.groups.count)
        assert 0 < run.clustering_seconds < run.seconds  # type: ignore[operator]
        assert (run.error, run.workload) == (None, None)


@pytest.mark.slow
def test_only_a_method_with_a_penalty_sees_the_classes(people: pl.DataFrame) -> None:
    plain, _, penalised = covey.compare(
        people, demo.schema(), k=4, methods=K_MEMBERS, seed=7, class_column=CLASSES
    ).runs
    assert (plain.method, plain.options) == ("k-member", {"penalty": 0})
    release = covey.anonymize(
        people, demo.schema(), require=KAnonymity(4), method="k-member", seed=7
    )
    assert plain.verdict == release.verdict
    measured = covey.measure(people, release.table, demo.schema(), k=4, class_column=CLASSES)
    assert plain.losses == measured
    assert penalised.losses == (
        release_of(people, penalised, seed=7, class_column=CLASSES).report.losses
    )
    assert penalised.losses.classification < plain.losses.classification  # type: ignore[operator]


@pytest.mark.slow
def test_csv_and_json_say_the_same_as_the_runs(people: pl.DataFrame, tmp_path: Path) -> None:
    found = covey.compare(
        people, demo.schema(), k=[4, 1_000], methods=K_MEMBERS, class_column=CLASSES
    )
    found.write(tmp_path / "found.csv")
    found.write(tmp_path / "found.JSON")
    rows = pl.read_csv(tmp_path / "found.csv").to_dicts()
    told = json.loads((tmp_path / "found.JSON").read_text())
    assert told["definitions"] == covey.measures.loss.DEFINITIONS
    for run, row, page in zip(found.runs, rows, told["runs"], strict=True):
        assert json.loads(row["options"]) == page["options"] == run.options
        for name in ("method", "name", "k", "groups", "clustering_seconds", "seconds",
                     "peak_memory", "error"):  # fmt: skip
            assert row[name] == page[name] == getattr(run, name)
        assert row["verified_k"] == row["smallest_class"] == (page["verdict"] or {}).get("k")
        for metric in SCALARS:
            assert row[metric] == (page["losses"] or {}).get(metric)
            exact = getattr(run.losses, metric, None)
            assert row[metric] == (exact and round(exact, DIGITS.get(metric, 4)))
    for row, exact in zip(rows, found.frame.to_dicts(), strict=True):
        assert {name: row[name] for name in UNROUNDED} == {name: exact[name] for name in UNROUNDED}
    assert [row["total_il"] is None for row in found.frame.to_dicts()] == [False] * 3 + [True] * 3
    assert list(tmp_path.iterdir()) != []


UNROUNDED = ("method", "options", "k", "rows", "suppressed", "groups", "seconds", "error")
DIGITS = {"total_il": 2, "average_class_size": 3, "entropy": 3, "monotone_entropy": 3,
          "non_uniform_entropy": 3}  # fmt: skip
SCALARS = ("total_il", "gcp", "gcp_lm", "precision", "discernibility", "average_class_size",
           "classification")  # fmt: skip


@pytest.mark.slow
def test_the_workload_is_that_of_the_release(people: pl.DataFrame) -> None:
    (run,) = covey.compare(
        people, demo.schema(), k=5, methods="k-member", class_column=CLASSES, workload=True
    ).runs
    assert run.workload is not None
    row = covey.Comparison((run,)).frame.row(0, named=True)
    assert row["query_error_median"] == run.workload.query_error_median > 0
    assert row["accuracy"] == run.workload.accuracy
    told = run.to_dict()["workload"]["query_error_mean"]
    assert told == round(run.workload.query_error_mean, 4)
    counted = covey.compare(people, demo.schema(), k=5, methods="k-member", seed=1, workload=True)
    release = release_of(people, counted.runs[0], seed=1)
    assert counted.runs[0].workload == release.workload(people)


def test_a_release_without_classes_has_no_figures_of_them(
    people: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = covey.compare(people, demo.schema(), k=5, methods="k-member").runs
    losses = replace(run.losses, discernibility=None, average_class_size=None)  # type: ignore[type-var]
    bare = replace(run, method="bare", losses=losses)
    frame = covey.Comparison((bare, run)).frame
    assert frame["discernibility"].to_list() == [None, run.losses.discernibility]  # type: ignore[union-attr]
    assert frame["largest_class"].to_list() == [None, run.verdict.largest_class]  # type: ignore[union-attr]
    assert "bare" in shown([bare, run], monkeypatch)
    assert not {"DM", "classes", "largest"} & set(shown([bare], monkeypatch).split())


# ── who runs ────────────────────────────────────────────────────────────────────────────────────

WORDY = demo.people(9).with_columns(pl.lit("x").alias("age"))
ONE_SECRET = covey.Schema.of(quasi={"age": "numeric", "town": "categorical"}, sensitive=["illness"])
FEW = pl.DataFrame(
    {"age": [*range(20, 32)], "town": list("AABBAABBCCCC"), "illness": list("abcabcabcabc")}
)


def labels(schema: covey.Schema, class_column: str | None = None) -> list[str]:
    return [c.label for c in comparison._contenders("all", schema, class_column)]


def test_all_are_the_methods_and_the_variants_that_apply(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in METHODS if name != "k-member"]:
        monkeypatch.delitem(METHODS, name)
    assert labels(ONE_SECRET) == ["k-member"]
    assert labels(ONE_SECRET, "illness") == ["k-member", "k-member:penalty=1"]
    add_method(monkeypatch, "mondrian")
    add_method(monkeypatch, "cb")
    every = ["k-member", "mondrian", "cb", "mondrian:relaxed=true"]
    assert labels(ONE_SECRET) == [*every, "cb:l=2"]
    assert labels(demo.schema()) == every  # which has three sensitive columns


@pytest.mark.slow
def test_all_methods_of_the_package_run() -> None:
    found = covey.compare(FEW, ONE_SECRET, k=3, class_column="illness")
    assert {run.name for run in found.runs} == METHODS.keys()
    assert [run.method for run in found.runs if run.error] == []


def test_options_are_written_behind_colons(people: pl.DataFrame) -> None:
    text = "k-member:seed_ref=first:penalty=0.5:penalise_leftovers=true, k-member"
    first, second = covey.compare(people, demo.schema(), k=4, methods=text).runs
    assert first.options == {"seed_ref": "first", "penalty": 0.5, "penalise_leftovers": True}
    assert (second.method, second.options) == ("k-member", {})


@pytest.mark.parametrize(
    ("match", "settings"),
    [
        ("no method 'nope'", {"methods": "k-member,nope"}),
        ("no method ''", {"methods": ""}),
        ("no option 'nope'", {"methods": ["k-member:nope=1"]}),
        ("NAME=VALUE", {"methods": "k-member:penalty"}),
        ("'style' is not", {"methods": "k-member:style=1"}),
        ("k-member is given 2 times", {"methods": "all,k-member"}),
        ("no method given", {"methods": []}),
        ("k = 4 is given 2 times", {"k": [4, 5, 4]}),
        ("no k given", {"k": []}),
        ("k must be at least 2", {"k": [4, 1]}),
        ("k must be a whole number", {"k": [4, "5"]}),
        ("seed .*0 or more", {"seed": -1}),
        ("class column 'age'", {"class_column": "age"}),
        ("class column 'nope'", {"class_column": "nope"}),
        ("'age': 9 rows with a cell that is not a number", {"frame": WORDY}),
    ],
)
def test_a_bad_request_is_told_before_any_run(
    people: pl.DataFrame, match: str, settings: dict[str, Any]
) -> None:
    stages: list[str] = []
    request: dict[str, Any] = {"frame": people, "k": 4, "methods": "k-member", **settings}
    with pytest.raises(covey.CoveyError, match=match):
        covey.compare(schema=demo.schema(), progress=lambda s, _: stages.append(s), **request)
    assert stages in ([], ["reading"])


# ── runs ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "message"),
    [
        (covey.InfeasibleError("not so diverse"), "not so diverse"),
        (covey.UsageError("numbers only"), "numbers only"),
        (MemoryError(), "not enough memory"),
    ],
)
def test_one_refusal_does_not_end_the_others(
    people: pl.DataFrame, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    add_method(monkeypatch, "picky", refuse(error, at=6))
    runs = covey.compare(people, demo.schema(), k=[6, 5, 91], methods="picky,k-member").runs
    assert [bool(run.error) for run in runs] == [True, False, False, False, True, True]
    assert message in str(runs[0].error)
    assert "k = 91 is not possible" in str(runs[4].error)
    refused = runs[0]
    assert (refused.losses, refused.verdict, refused.seconds, refused.rows) == (None,) * 4


def test_a_broken_promise_ends_the_comparison(
    people: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody asked for something that cannot be had: covey has made a mistake."""
    add_method(monkeypatch, "liar", refuse(covey.ViolationError("promise broken"), at=6))
    with pytest.raises(covey.ViolationError, match="promise broken"):
        covey.compare(people, demo.schema(), k=6, methods="liar,k-member")


def test_a_method_runs_once_for_each_k(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, int]] = []
    add_method(monkeypatch, "counted", lambda table, k: calls.append((table.rows, k)))
    covey.compare(demo.people(1_000), demo.schema(), k=[5, 6], methods="counted")
    assert calls == [(1_000, 5), (1_000, 6)]


def test_progress_names_the_run_and_tells_how_much_is_done(people: pl.DataFrame) -> None:
    told: list[tuple[str, float]] = []
    covey.compare(
        people, demo.schema(), k=[4, 5], methods="k-member", progress=lambda *x: told.append(x)
    )
    stages = list(dict.fromkeys(stage for stage, _ in told))
    assert stages == ["reading", "1 of 2: k-member, k = 4", "2 of 2: k-member, k = 5"]
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert 0.5 in shares


@pytest.mark.slow
@linux
def test_memory_is_what_forming_the_groups_took(
    people: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 50_000_000
    add_method(monkeypatch, "large", lambda *_: np.ones(size, dtype=np.int8).sum())
    add_method(monkeypatch, "small")
    large, small = covey.compare(people, demo.schema(), k=5, methods="large,small").runs
    assert large.peak_memory == pytest.approx(size, rel=0.1)
    assert small.peak_memory < size / 10  # type: ignore[operator]


@pytest.mark.parametrize("missing", ["status", "clear_refs"])
def test_memory_is_unknown_where_the_system_does_not_tell(
    people: pl.DataFrame, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, missing: str
) -> None:
    for name in {"status", "clear_refs"} - {missing}:
        (tmp_path / name).write_text("VmHWM: lots\n")
    (tmp_path / missing).mkdir()
    monkeypatch.setattr(comparison, "_PROCESS", tmp_path)
    (run,) = covey.compare(people, demo.schema(), k=5, methods="k-member").runs
    assert run.losses is not None
    assert run.peak_memory is None


def test_interrupted_it_has_given_what_was_finished(people: pl.DataFrame) -> None:
    def interrupt(stage: str, done: float) -> None:
        if stage.startswith("2 of"):
            raise KeyboardInterrupt

    runs = comparison.runs(people, demo.schema(), k=[4, 5], methods="k-member", progress=interrupt)
    assert next(runs).k == 4
    with pytest.raises(KeyboardInterrupt):
        next(runs)


# ── the command ─────────────────────────────────────────────────────────────────────────────────


def compare(folder: Folder, *more: object, table: str = "people.csv") -> Ran:
    return folder.covey("compare", table, "-s", "people.toml", *more)


def shown(runs: list[comparison.Run], monkeypatch: pytest.MonkeyPatch) -> str:
    """What a wide terminal shows."""
    page = io.StringIO()
    console = Console(file=page, force_terminal=True, width=400, markup=False, highlight=False)
    monkeypatch.setattr(display, "out", console)
    display.show_comparison(covey.Comparison(tuple(runs)))
    return page.getvalue()


@pytest.mark.slow
def test_the_command_shows_and_writes(folder: Folder) -> None:
    methods = "k-member,k-member:seed_ref=random"
    request = ["-k", "5,10", "--methods", methods, "--seed", 3, "-o", "out.csv", "-o", "out.json"]
    code, out, err = compare(folder, *request)
    assert (code, err) == (0, "covey: detected encoding utf-8, delimiter ','\n")
    for word in ("k = 5", "k = 10", "k-member:seed_ref=random", "seconds", "Total-IL", "GCP",
                 "precision", "C_AVG", "DM", "entropy"):  # fmt: skip
        assert word in out
    assert pl.read_csv("out.csv")["k"].to_list() == [5, 5, 10, 10]
    told = json.loads((folder.path / "out.json").read_text())
    assert [run["losses"]["total_il"] for run in told["runs"]] == (
        pl.read_csv("out.csv")["total_il"].to_list()
    )
    code, out, _ = compare(folder, *request, "--json", "--workload")
    assert code == 0
    again = json.loads(out)
    assert [run["losses"] for run in again["runs"]] == [run["losses"] for run in told["runs"]]
    assert all(run["workload"]["query_error_mean"] > 0 for run in again["runs"])


def test_the_least_loss_comes_first_and_the_best_is_bold(
    people: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run,) = covey.compare(people, demo.schema(), k=5, methods="k-member").runs
    assert run.losses is not None
    better = replace(run.losses, total_il=1.25, precision=0.75)
    worse = replace(run.losses, total_il=2.25, precision=0.5)
    page = shown(
        [
            replace(run, method="worse", losses=worse),
            replace(run, method="better", losses=better),
            comparison.Run("hopeless", "hopeless", {}, 5, error="too few rows"),
        ],
        monkeypatch,
    )
    assert page.index("better") < page.index("worse") < page.index("refused by hopeless: too few")
    bold = [part.split("\x1b[0m")[0].strip() for part in page.split("\x1b[1m")[1:]]
    assert {"1.2", "0.7500"} <= set(bold)
    assert not {"2.2", "0.5000", f"{run.losses.gcp:.4f}"} & set(bold)  # equal is not better


def test_a_narrow_terminal_shows_every_figure_in_several_tables(folder: Folder) -> None:
    code, out, _ = compare(folder, "-k", 5, "--methods", "k-member", "--class-column", CLASSES)
    assert code == 0
    assert max(len(line) for line in out.splitlines()) <= 80
    assert out.count("method ") > 1
    assert "…" not in out


def test_without_k_the_schema_is_asked(folder: Folder) -> None:
    code, _, err = compare(folder, "--methods", "k-member")
    assert code == 2
    assert "no k given" in err
    with (folder.path / "people.toml").open("a") as file:
        file.write("[require]\nk = 7\n")
    assert compare(folder, "--methods", "k-member", "-o", "out.csv")[0] == 0
    assert pl.read_csv("out.csv")["k"].to_list() == [7]


def test_places_that_cannot_be_written_are_told_before_the_work(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "runs", lambda *_, **__: pytest.fail("it has begun"))
    before = (folder.path / "people.csv").read_bytes()
    for name, message in (
        ("people.csv", "would overwrite"),
        ("./hierarchies/education.csv", "would overwrite"),
        ("nowhere/out.csv", "cannot be written"),
    ):
        code, _, err = compare(folder, "-k", 5, "-o", "x.json", "-o", name)
        assert (code, message in err) == (2, True)
    code, _, err = compare(folder, "-k", 5, "-o", "x.csv", "-o", "x.csv")
    assert (code, "would overwrite" in err) == (2, True)
    assert (folder.path / "people.csv").read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "code"), [(KeyboardInterrupt(), 130), (RuntimeError("a cell"), 1)]
)
def test_what_was_finished_is_shown_and_written_whatever_ends_it(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    add_method(monkeypatch, "doomed", refuse(error, at=6))
    ended, out, err = compare(folder, "-k", "5,6,7", "--methods", "doomed", "-o", "out.csv")
    assert ended == code
    assert "k = 5" in out
    assert "k = 6" not in out
    assert pl.read_csv("out.csv")["k"].to_list() == [5]
    assert "a cell" not in err
    (folder.path / "out.csv").write_text("old")
    ended, out, _ = compare(folder, "-k", "6,7", "--methods", "doomed", "-o", "out.csv")
    assert (ended, out) == (code, "")
    assert (folder.path / "out.csv").read_text() == "old"


@pytest.mark.slow
def test_no_cell_is_shown_or_written(folder: Folder) -> None:
    canary = "Zq7canary19xK402"
    cells = dict.fromkeys(["name", "zip", "diagnosis"], canary)
    frame = pl.read_csv("people.csv", infer_schema=False).head(30)
    frame.with_columns(pl.lit(cell).alias(name) for name, cell in cells.items()).write_csv("in.csv")
    request = ["-k", "5,1000", "--class-column", CLASSES, "-o", "out.csv", "-o", "out.json"]
    code, out, err = compare(folder, *request, table="in.csv")
    assert code == 0
    written = (folder.path / "out.csv").read_text() + (folder.path / "out.json").read_text()
    assert canary not in out + err + written
