"""Tables of any size: the same release in parts as in memory, and nothing left behind."""

import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import covey
from command_line import Folder
from covey import (
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    PersonShare,
    Style,
    TCloseness,
    demo,
)
from covey.clustering.request import Request
from covey.custody.keys import Key
from covey.custody.ordering import Secret
from covey.custody.sealed import Spool
from covey.encoding import encode
from covey.engines import local, steps
from covey.engines.cuts import learn, uncut
from covey.inspection import repeating
from covey.schema import taxonomy
from covey.tables import Table, batches, csv_files
from examples import examples

KEY = bytes(range(32))
ROWS = 1_200


def people(rows: int = ROWS, seed: int = 5) -> pl.DataFrame:
    frame = demo.people(rows, seed=seed)
    stays = pl.Series("patient", [f"p{i % (rows * 2 // 3)}" for i in range(rows)])
    return frame.with_columns(stays)


def schema(**columns: Any) -> covey.Schema:
    known = {**demo.schema().columns, "patient": covey.Column(role="identifier")}
    told = {n: {**c.model_dump(exclude_none=True)} for n, c in known.items()}
    for column in told.values():
        column.update(columns if column["role"] == "quasi" else {})
    return covey.Schema.from_dict({"columns": told})


def spread(frame: pl.DataFrame, folder: Path, files: int = 3, kind: str = "parquet") -> str:
    """The rows in several files, in another order."""
    folder.mkdir()
    mixed = frame.sample(fraction=1, shuffle=True, seed=files)
    for number, some in enumerate(mixed.iter_slices(-(-frame.height // files))):
        path = folder / f"{number}.{kind}"
        some.write_csv(path) if kind == "csv" else some.write_parquet(path)
    return str(folder)


def released(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(str(folder / "*.parquet"))


def in_order(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.sort(frame.columns)


REQUESTS: dict[str, dict[str, Any]] = {
    "k": {"require": [KAnonymity(5, person=False)]},
    "persons": {"require": [KAnonymity(4, "patient")]},
    "l": {"require": [KAnonymity(4, person=False), LDiversity(3, "diagnosis")]},
    "entropy l": {
        "require": [KAnonymity(4, person=False), LDiversity(2.5, "diagnosis", "entropy")]
    },
    "t": {"require": [KAnonymity(4, person=False), TCloseness(0.35, "diagnosis")]},
    "alpha": {"require": [KAnonymity(4, person=False), AlphaK(0.5, "diagnosis")]},
    "beta": {
        "require": [KAnonymity(4, person=False), BetaLikeness(9, "length_of_stay")],
        "minimality": "accept",
    },
    "delta": {"require": [KAnonymity(4, person=False), DeltaDisclosure(4, "income_class")]},
    "suppressing, t": {
        "require": [KAnonymity(4, person=False), TCloseness(0.4, "diagnosis")],
        "max_suppressed": 0.05,
    },
    "another method": {"require": [KAnonymity(5, person=False)], "method": "mondrian"},
    "cb": {
        "require": [KAnonymity(5, person=False)],
        "method": "cb",
        "l": 2,
        "sensitive": "diagnosis",
    },
    "a class column": {"require": [KAnonymity(5, person=False)], "class_column": "diagnosis"},
    "much": {
        "require": [
            KAnonymity(4, "patient"),
            PersonShare(10, "patient"),  # 4 would hold without being required
            LDiversity(3, "diagnosis"),
            TCloseness(0.4, "diagnosis"),
        ],
        "max_suppressed": 0.05,
        "style": Style(categories="values", intervals="columns"),
    },
    "refined": {"require": [KAnonymity(5, person=False)], "method": "k-member", "refine": True},
}


LOCAL = [("local", name) for name in REQUESTS]
# Both need all tasks, and Spark takes many seconds for each.
MUCH, ANOTHER = (
    pytest.param("spark", name, marks=pytest.mark.slow) for name in ("much", "another method")
)


def requested(name: str, effort: str) -> dict[str, Any]:
    """A request by its name; the effort is of the covey method alone."""
    return REQUESTS[name] if "method" in REQUESTS[name] else {"effort": effort, **REQUESTS[name]}


def prepared(name: str) -> tuple[pl.DataFrame, covey.Schema]:
    frame, known = people(), schema()
    if name == "much":
        known, kept = schema(missing="drop-row"), pl.int_range(pl.len()) % 50 != 7
        frame = frame.with_columns(pl.when(kept).then("age"))
    if name == "delta":
        frame = frame.with_columns(
            income_class=pl.when(pl.col("age") % 2 == 0).then(pl.lit("a")).otherwise(pl.lit("b"))
        )
        columns = {**known.columns, "income_class": covey.Column(role="sensitive")}
        known = covey.Schema.from_dict({"columns": columns})
    return frame, known


# ── the same release ────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def use(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Start what an engine needs."""

    def start(engine: str) -> None:
        if engine == "spark":
            request.getfixturevalue("session")

    return start


@pytest.mark.parametrize(("engine", "name"), [*LOCAL, MUCH])
def test_in_one_part_every_engine_gives_the_release_and_the_report_of_memory(
    engine: Any, name: str, tmp_path: Path, use: Callable[[str], None]
) -> None:
    use(engine)
    (frame, known), request = prepared(name), requested(name, "quick")
    whole = covey.anonymize(frame, known, key=KEY, **request)
    source = spread(frame, tmp_path / "in")
    found = covey.anonymize(
        source, known, to=tmp_path / "out", engine=engine, key=KEY, register=False, **request
    )
    assert in_order(released(tmp_path / "out")).equals(in_order(whole.table))
    assert found.verdict == whole.verdict
    apart = {"seconds", "output", "reminders", "composition"}
    if name in ("persons", "much"):  # in memory, one row of each person is counted
        apart |= {"distributions"}
    ours, theirs = found.report.to_dict(), whole.report.to_dict()
    assert {n: v for n, v in ours.items() if n not in apart} == {
        n: v for n, v in theirs.items() if n not in apart
    }


@pytest.mark.parametrize(("engine", "name"), [*LOCAL, MUCH, ANOTHER])
def test_in_parts_every_engine_gives_the_same_whatever_the_files_and_the_order(
    engine: Any, name: str, tmp_path: Path, use: Callable[[str], None]
) -> None:
    use(engine)
    (frame, known), request = prepared(name), requested(name, "fast")
    found = []
    ways: list[tuple[int, int, Any]] = [(1, 1_000, "local"), (4, 97, engine)]
    for files, batch, chosen in ways:
        source, to = spread(frame, tmp_path / f"in{files}", files), tmp_path / f"out{files}"
        release = covey.anonymize(
            source if chosen == "spark" else batches.batches(source, known, rows=batch),
            *(known,), to=to, engine=chosen, key=KEY, part_rows=400, register=False, **request,
        )  # fmt: skip
        rows = release.report.rows
        assert release.verdict.holds
        assert rows.released + rows.suppressed + rows.dropped == frame.height
        report = release.report.to_dict()
        assert json.dumps(report)
        del report["seconds"], report["output"]
        found.append((in_order(released(to)), release.verdict, report))
    assert found[0][0].equals(found[1][0])
    assert found[0][1:] == found[1][1:]


@pytest.mark.parametrize("missing", ["category", "wildcard", "drop-row"])
def test_missing_cells_are_treated_as_in_memory(missing: str, tmp_path: Path) -> None:
    frame = people().with_columns(
        pl.when(pl.int_range(pl.len()) % 7 > 0).then("age"),
        pl.when(pl.int_range(pl.len()) % 5 > 0).then("sex"),
    )
    known, asked = schema(missing=missing), KAnonymity(4, person=False)
    whole = covey.anonymize(frame, known, require=asked, key=KEY, effort="fast")
    source = spread(frame, tmp_path / "in")
    covey.anonymize(
        source, known, to=tmp_path / "out", require=asked, key=KEY, effort="fast", register=False
    )
    assert in_order(released(tmp_path / "out")).equals(in_order(whole.table))


def test_parts_are_merged_until_nobody_has_too_large_a_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of 1,081 people has 120 rows at one end: a part of 150 rows there would be impossible."""
    frame = pl.DataFrame(
        {"who": [0] * 120 + [*range(1, 1081)],
         "x": [*range(900, 1020), *(n * 7 % 880 for n in range(1080))]}
    )  # fmt: skip
    require = {"k": 5, "person": "who", "limit_share": True}
    known = covey.Schema.of(identifier=["who"], quasi={"x": "numeric"}, require=require)
    source = spread(frame, tmp_path / "in")
    asked: dict[str, Any] = {"register": False, "part_rows": 150, "effort": "fast", "key": KEY}
    found = covey.anonymize(source, known, to=tmp_path / "out", **asked)
    assert found.verdict.risks.prosecutor is not None
    assert found.verdict.risks.prosecutor <= 0.2
    monkeypatch.setattr("covey.engines.steps._shares", lambda _: [])
    with pytest.raises(covey.InfeasibleError, match="share of a person"):
        covey.anonymize(source, known, to=tmp_path / "none", **asked)


def test_csv_files_become_csv_files(tmp_path: Path) -> None:
    frame, asked = people(), KAnonymity(4, person=False)
    source = spread(frame, tmp_path / "in", kind="csv")
    covey.anonymize(
        source, schema(), to=tmp_path / "out", require=asked, key=KEY, part_rows=300, register=False
    )
    files = sorted((tmp_path / "out").iterdir())
    assert files
    assert {path.suffix for path in files} == {".csv"}
    found = covey.verify(str(tmp_path / "out"), schema(), asked)
    assert found.holds
    assert found.rows == frame.height


def test_parts_lose_little(tmp_path: Path) -> None:
    frame = demo.people(20_000)
    source = spread(frame, tmp_path / "in")
    asked = KAnonymity(5, person=False)
    whole = covey.anonymize(frame, demo.schema(), require=asked, key=KEY, effort="fast")
    found = covey.anonymize(
        *(source, demo.schema()), to=tmp_path / "out", require=asked, key=KEY, effort="fast",
        part_rows=5_000, register=False,
    )  # fmt: skip
    assert found.report.mean_loss < 1.03 * whole.report.mean_loss


# ── parts ───────────────────────────────────────────────────────────────────────────────────────


@given(st.integers(0, 2**32 - 1), st.integers(1, 9))
@examples(30)
def test_cuts_put_every_row_into_one_part_and_equal_rows_into_the_same(
    seed: int, parts: int
) -> None:
    random = np.random.default_rng(seed)
    rows = int(random.integers(1, 200))
    frame = pl.DataFrame(
        {
            "x": random.integers(0, 9, rows).astype(float),
            "y": [["a", "b", "c", None][place] for place in random.integers(0, 4, rows)],
        }
    )
    known = covey.Schema.of(quasi={"x": "numeric", "y": "categorical"})
    table = encode(Table(frame), known)
    weights = random.integers(1, 5, rows)
    cuts = learn(table, weights, parts, lambda _: True)
    assigned = cuts.assign(table)
    assert cuts.parts <= parts
    assert set(assigned.tolist()) == set(range(cuts.parts))
    together = frame.with_columns(part=pl.Series(assigned)).group_by("x", "y").agg("part")
    assert all(len(set(each)) == 1 for each in together["part"])
    order = random.permutation(rows)
    assert (cuts.assign(table.take(order)) == assigned[order]).all()


@given(st.lists(st.integers(0, 20), min_size=1, max_size=12), st.integers(1, 30))
def test_parts_are_merged_until_each_is_able(sizes: list[int], least: int) -> None:
    assume(sum(sizes) > 0)
    cuts = replace(uncut(), part=np.arange(len(sizes), dtype=np.int32), parts=len(sizes))
    merged = cuts.merged(lambda parts: sum(sizes[part] for part in parts) >= least)
    totals = np.bincount(merged.part, sizes, merged.parts)
    assert totals.sum() == sum(sizes)
    assert merged.parts == 1 or (totals >= least).all()
    assert (np.diff(merged.part) >= 0).all()  # only neighbours are merged


def test_a_part_that_cannot_meet_a_requirement_is_merged(tmp_path: Path) -> None:
    """The young have one illness, the old another: no part of one age is diverse."""
    rows = 3_000
    age = np.arange(rows) % 80
    frame = pl.DataFrame({"age": age, "ill": np.where(age < 40, "flu", "gout")})
    known = covey.Schema.of(quasi={"age": "numeric"}, sensitive=["ill"])
    source = spread(frame, tmp_path / "in")
    found = covey.anonymize(
        *(source, known), to=tmp_path / "out", part_rows=500, key=KEY, register=False,
        require=[KAnonymity(5), LDiversity(2, "ill")],
    )  # fmt: skip
    assert found.verdict.holds


# ── refusals ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        ({"budget": 3.0}, "budget"),
        ({"method": "nh"}, "nh"),
        ({"keep_order": True}, "keep_order"),
        ({"part_rows": 0}, "part_rows"),
        ({"k": 5_000}, "5,000"),
        ({"engine": "abacus"}, "abacus"),
        ({"costs": "costs.csv"}, "costs"),
        ({"curve": object()}, "curve"),
    ],
)
def test_what_cannot_be_done_in_parts_is_refused(
    asked: dict[str, Any], word: str, tmp_path: Path
) -> None:
    source = spread(people(), tmp_path / "in")
    request = {"k": 5, "person": False, **asked}
    with pytest.raises(covey.CoveyError, match=word):
        covey.anonymize(source, schema(), to=tmp_path / "out", key=KEY, **request)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_people_who_repeat_are_noticed_over_all_files(tmp_path: Path) -> None:
    source = spread(people(), tmp_path / "in", files=5)
    with pytest.raises(covey.GuaranteeError, match="'patient' repeats"):
        covey.anonymize(source, schema(), to=tmp_path / "out", k=5, key=KEY)


def test_an_output_with_files_is_refused_before_any_work(tmp_path: Path) -> None:
    source = spread(people(), tmp_path / "in")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old.txt").write_text("old")
    with pytest.raises(covey.OutputError, match="name a new folder"):
        covey.anonymize(source, schema(), to=tmp_path / "out", k=5, person=False, key=KEY)
    with pytest.raises(covey.OutputError, match="input"):
        covey.anonymize(source, schema(), to=tmp_path / "in/x", k=5, person=False, key=KEY)


# ── the promise ─────────────────────────────────────────────────────────────────────────────────


def test_a_violation_publishes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build whose parts lose their groups is caught by the verifier."""
    real = steps.group

    def alone(*given: Any) -> Any:
        found = real(*given)
        return replace(found, groups=covey.Groups(np.arange(len(found.groups))))

    monkeypatch.setattr(steps, "group", alone)
    source = spread(people(), tmp_path / "in")
    with pytest.raises(covey.ViolationError, match="k-anonymity"):
        covey.anonymize(source, schema(), to=tmp_path / "out", k=5, person=False, key=KEY)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_lost_row_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = steps.gather

    def fewer(*given: Any) -> Any:
        found = real(*given)
        return replace(found, table=found.table.with_frame(found.table.frame[1:]))

    monkeypatch.setattr(steps, "gather", fewer)
    source = spread(people(), tmp_path / "in")
    request: dict[str, Any] = {"k": 5, "person": False, "key": KEY, "register": False}
    with pytest.raises(covey.ViolationError):
        covey.anonymize(source, schema(), to=tmp_path / "out", **request)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "after"), [("rows-0", "divided"), ("bucket-0", "shown"), ("trace-0", "written")]
)
@pytest.mark.parametrize("how", ["removed", "of another run"])
def test_a_working_file_that_someone_changed_is_noticed(
    name: str, after: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its trace, a release would be published and hardly be known to the register."""
    real = getattr(local.Local, after)

    def changed(run: local.Local, *given: Any) -> Any:
        found = real(run, *given)
        path = run.spool.folder / name
        path.unlink()
        if how == "of another run":
            other = Spool.make(tmp_path / "other", Key.of(KEY))
            other.put(name, b"data")
            path.write_bytes((other.folder / name).read_bytes())
        return found

    monkeypatch.setattr(local.Local, after, changed)
    source = spread(people()[:300], tmp_path / "in")
    request: dict[str, Any] = {"k": 5, "person": False, "key": KEY}
    with pytest.raises(covey.UsageError, match="working files"):
        covey.anonymize(source, schema(), to=tmp_path / "out", part_rows=150, **request)
    assert not (tmp_path / "out").exists()


CHILD = """
import sys, covey
from engines import acting_on_datasets
acting_on_datasets.act(sys.argv[4])
schema = covey.Schema.from_toml(sys.argv[2])
covey.anonymize(
    sys.argv[1], schema, to=sys.argv[3], k=5, person=False, part_rows=300, effort="fast",
    register=False, resume=sys.argv[5] == "resume",
)
"""
MARK = "Zq7marker"


def marked(rows: int) -> tuple[pl.DataFrame, covey.Schema]:
    """People with a marker in every role."""
    place = pl.int_range(rows, eager=True).cast(pl.String)
    frame = (
        demo.people(rows)
        .select("age", "diagnosis")
        .with_columns(
            name=f"{MARK}who" + place,
            town=f"{MARK}quasi" + place,
            note=f"{MARK}kept" + place,
        )
    )
    known = covey.Schema.of(
        identifier=["name"],
        quasi={"age": "numeric", "town": "categorical"},
        sensitive=["diagnosis"],
        insensitive=["note"],
    )
    return frame, known


def readable(folder: Path, *marks: str) -> set[str]:
    """The marks that any file below a folder holds, as text of any common encoding."""
    found = set()
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            found |= {
                mark
                for mark in marks
                for form in (mark.encode(), mark.encode("utf-16-le"))
                if form in data
            }
    return found


STAGES = ["divide", "group", "gather", "verify"]


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_a_killed_run_leaves_no_cell_and_can_be_resumed(stage: str, tmp_path: Path) -> None:
    frame, known = marked(800)
    work = tmp_path / "work"
    work.mkdir()
    source = spread(frame, tmp_path / "in")
    (tmp_path / "schema.toml").write_text(known.to_toml())
    command = [source, str(tmp_path / "schema.toml"), str(work / "out")]

    def run(act: str, how: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-c", CHILD, *command, act, how],
            capture_output=True, timeout=120, check=False,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        )  # fmt: skip

    killed = run(f"kill {stage}", "anew")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (work / "out").exists()
    quasi, who, kept = f"{MARK}quasi", f"{MARK}who", f"{MARK}kept"
    left = readable(work, quasi, who, kept)
    # Files that are ready to be published hold what will be published, for their owner only.
    assert left <= ({kept} if stage == "verify" else set())
    assert all(path.stat().st_mode & 0o077 == 0 for path in work.iterdir())
    again = run("count", "resume")
    assert again.returncode == 0, again.stderr
    done = json.loads(again.stdout)
    assert done["survey"] == 0  # finished passes are not done again
    assert done["divide"] == 0 or stage == "divide"
    assert {path.name for path in work.iterdir()} == {"out", "out.datapackage.json"}
    whole = covey.anonymize(
        *(source, known), to=tmp_path / "anew", k=5, person=False, part_rows=300, effort="fast",
        register=False,
    )  # fmt: skip
    assert whole.verdict.holds
    assert in_order(released(work / "out")).equals(in_order(released(tmp_path / "anew")))


def test_other_work_is_not_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = spread(people(), tmp_path / "in")
    request: dict[str, Any] = {
        "to": tmp_path / "out",
        "person": False,
        "register": False,
        "key": KEY,
    }

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(steps, "gather", stop)
        with pytest.raises(KeyboardInterrupt):
            covey.anonymize(source, schema(), k=5, **request)
    with pytest.raises(covey.UsageError, match="changed"):
        covey.anonymize(source, schema(), k=6, resume=True, **request)
    for other in (
        {"style": Style(intervals="columns")},
        {"register": None},
        {"defuse": False},
        {"part_rows": 77},
        {"seed": 3},
    ):
        with pytest.raises(covey.UsageError, match="changed"):
            covey.anonymize(source, schema(), k=5, resume=True, **{**request, **other})
    other = {**request, "key": bytes(32)}
    with pytest.raises(covey.UsageError, match="key"):
        covey.anonymize(source, schema(), k=5, resume=True, **other)
    changed = Path(source) / "0.parquet"
    stat = changed.stat()
    os.utime(changed, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))  # of the same size
    with pytest.raises(covey.UsageError, match="changed"):
        covey.anonymize(source, schema(), k=5, resume=True, **request)
    os.utime(changed, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    covey.anonymize(source, schema(), k=5, resume=True, **request)
    assert {path.name for path in tmp_path.iterdir()} == {"in", "out", "out.datapackage.json"}


def test_rows_that_were_divided_before_a_crash_are_not_released_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are on the disk, but nothing says so yet."""
    source = spread(people(300), tmp_path / "in")
    request: dict[str, Any] = {"k": 5, "person": False, "key": KEY, "register": False}
    request |= {"to": tmp_path / "out", "part_rows": 150}
    real = local.Local._spread

    def stop(*given: Any) -> None:
        real(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(local.Local, "_spread", stop)
        with pytest.raises(KeyboardInterrupt):
            covey.anonymize(source, schema(), **request)
    covey.anonymize(source, schema(), resume=True, **request)
    assert released(tmp_path / "out").height == 300


def test_what_is_sent_to_workers_holds_no_key(tmp_path: Path) -> None:
    """Tasks travel to other machines; the key must not."""
    known = schema()
    secret = Secret(Key(KEY))
    task = steps.Task(
        *(known, Request.of(known, KAnonymity(5, "patient")), csv_files.Dialect(), ()),
        secret.hasher(known),
        secret.person_hasher(["patient"]),
    )
    data = pickle.dumps(task)
    assert KEY not in data
    with pytest.raises(TypeError):
        pickle.dumps(secret)


@pytest.mark.slow
def test_the_command_line_writes_a_folder(folder: Folder) -> None:
    frame, known = people(), schema()
    spread(frame, folder.path / "in")
    folder.write("covey.toml", known.to_toml())
    k = ("-k", 5, "--count-rows")
    ran = folder.covey(
        "anonymize", "in/*.parquet", "-s", "covey.toml", "-o", "out/", *k, "--part-rows", 400,
        "--report", "report.html", "--certificate",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert (folder.path / "report.html").exists()
    for command in (
        ("verify", "out/", "-s", "covey.toml", *k),
        ("verify", "out/", "--certificate", "out.intoto.json"),
        ("measure", "in/", "out/", "-s", "covey.toml"),
        ("report", "in/", "out/", "-s", "covey.toml", *k, "-o", "again.json"),
    ):
        ran = folder.covey(*command)
        assert ran.code == 0, (command, ran.err)
    assert folder.covey("anonymize", "in/", "-o", "more/", *k, "--costs", "c.csv").code == 2
    assert folder.covey("anonymize", "in/", "-o", "one.parquet", *k, "--resume").code == 2


def test_an_interrupt_names_what_is_left(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    spread(people(), folder.path / "in")
    folder.write("covey.toml", schema().to_toml())
    command = ("anonymize", "in/", "-s", "covey.toml", "-o", "out/", "-k", 5, "--count-rows")

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(steps, "gather", stop)
        ran = folder.covey(*command)
    assert ran.code == 130
    (left,) = folder.path.glob(".*covey-work")
    assert str(left) in ran.err
    assert "--resume" in ran.err
    assert not (folder.path / "out").exists()
    assert folder.covey(*command, "--resume").code == 0
    assert not left.exists()


@pytest.mark.slow
def test_the_register_knows_people_of_releases_in_parts(tmp_path: Path) -> None:
    """A release in memory and one in parts of the same people are combined."""
    frame, known = people(), schema()
    source = spread(frame, tmp_path / "in")
    first = covey.anonymize(frame, known, k=5, person=False, key=KEY)
    told = first.write(tmp_path / "first.csv")
    assert told.composition is not None
    assert told.composition.earlier == 0
    second = covey.anonymize(
        source, known, to=tmp_path / "out", k=4, person=False, key=KEY, part_rows=300
    )
    assert second.report.composition is not None
    assert second.report.composition.shared == 1
    third = covey.anonymize(frame, known, k=6, person=False, key=KEY).write(tmp_path / "third.csv")
    assert third.composition is not None
    assert third.composition.earlier == 2
    with pytest.raises(covey.GuaranteeError, match="earlier release"):
        covey.anonymize(
            source, known, to=tmp_path / "more", k=7, person=False, key=KEY,
            refuse_composition=True,
        )  # fmt: skip
    assert not (tmp_path / "more").exists()


@pytest.mark.slow
def test_samples_do_not_depend_on_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that are learnt from earlier batches leave out only what no sample would keep."""
    monkeypatch.setattr(steps, "SAMPLED", 60)
    monkeypatch.setattr(repeating, "MOST", 50)
    known, secret = schema(), Secret(Key(KEY))
    frame = pl.concat([people(300), people(200)])  # many rows twice, in different batches
    table = batches.batches(frame, known)
    task = steps.Task(
        *(known, Request.of(known, KAnonymity(5)), table.dialect, table.names),
        secret.hasher(known),
        secret.person_hasher([]),
    )
    whole = steps.InputSurvey.over(table, task)
    for rows in (7, 64):
        mixed = frame.sample(fraction=1, shuffle=True, seed=rows)
        parts = steps.InputSurvey.over(batches.batches(mixed, known, rows=rows), task)
        assert parts.sample.frame.equals(whole.sample.frame)
        assert parts.content == whole.content
        assert parts.repeating.limits == whole.repeating.limits
        for name, kept in whole.repeating.rows.items():
            assert in_order(parts.repeating.rows[name]).equals(in_order(kept))


def test_a_tree_made_in_python_serves_a_release_in_parts(tmp_path: Path) -> None:
    paths = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "c", "*"]]
    tree = {"type": "categorical", "taxonomy": taxonomy.from_paths(paths)}
    frame = pl.DataFrame({"c": ["a", "b", "c"] * 20})
    known = covey.Schema.of(quasi={"c": tree}, require={"k": 5})
    made = covey.anonymize(
        frame, known, to=tmp_path / "out", key=bytes(32), register=False, engine="local"
    )
    assert made.verdict.holds
