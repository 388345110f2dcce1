"""Cases that once ended in an internal error: limits of files, numbers, memory and machines."""

import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import covey
from covey import demo
from covey.cli import main as cli
from covey.encoding import constraints
from covey.encoding.constraints import reachable
from covey.errors import (
    InfeasibleError,
    TableError,
    TaxonomyError,
    UsageError,
    is_out_of_memory,
)
from covey.schema.requirements import SENSITIVE_MODELS, Requirement

THOUSANDS = "9" * 5000
DEEP = "[" * 5000 + "]" * 5000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    demo.write(tmp_path, 60)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    capfd.readouterr()
    code = cli.run([*arguments])
    err = capfd.readouterr().err
    assert "internal" not in err
    return code, err.splitlines()[-1]


# ── numbers and nesting ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (f"[x]\na = {DEEP}", "nested too deeply"),
        (f"[require]\nk = {THOUSANDS}", "too long"),
        (f"[require]\nk = {THOUSANDS[:4000]}", "k must be a whole number of at most 15 digits"),
        (f"[require]\nk = 5\nt = {{ diagnosis = {THOUSANDS[:4000]} }}", "t must be a number"),
    ],
    ids=["nested", "digits", "fewer-digits", "digits-of-t"],
)
def test_schemas_of_no_measure(
    folder: Path, capfd: pytest.CaptureFixture[str], lines: str, told: str
) -> None:
    text = Path("people.toml").read_text().partition("[require]")[0]
    Path("s.toml").write_text(f"{text}\n{lines}\n")
    code, err = run(capfd, "anonymize", "people.csv", "-s", "s.toml", "-o", "out.csv")
    assert code == 2
    assert told in err
    assert len(err) < 500


@pytest.mark.parametrize(
    "options",
    [
        ["-k", THOUSANDS],
        ["-k", THOUSANDS[:4000]],
        ["-k", "5", "--seed", THOUSANDS],
        ["-k", "5", "-O", f"tries={THOUSANDS}", "--method", "cb"],
        ["-k", "5", "-O", f"tries={DEEP}", "--method", "cb"],
        ["-k", "5", "-l", f"diagnosis={THOUSANDS}"],
        ["-k", "5", "-t", f"diagnosis={THOUSANDS}"],
        ["-k", "5", "--alpha", f"diagnosis=1/{THOUSANDS}"],
        ["-k", "5", "--delta", "diagnosis=inf"],
        ["-k", "5", "--delta", "diagnosis=nan"],
        ["-k", "5", "--delta", "diagnosis=1/0"],
    ],
    ids=range(11),
)
def test_options_of_no_measure(
    folder: Path, capfd: pytest.CaptureFixture[str], options: list[str]
) -> None:
    code, err = run(capfd, "anonymize", "people.csv", "-s", "people.toml", "-o", "o.csv", *options)
    assert code == 2
    assert len(err) < 500


@pytest.mark.parametrize("delta", ["1e308", "800", "710/1"])
def test_a_delta_beyond_all_ratios_asks_that_no_class_lacks_a_value(delta: str) -> None:
    table = pl.DataFrame({"q": [1, 1, 9, 9], "s": ["a", "b"] * 2})
    schema = covey.Schema.of(quasi={"q": "numeric"}, sensitive=["s"])
    asked: list[Requirement] = [covey.KAnonymity(2), covey.DeltaDisclosure.parse("s", delta)]
    assert covey.anonymize(table, schema, require=asked).verdict.classes == 2


@pytest.mark.parametrize("method", ["covey", "mondrian", "nh"])
@pytest.mark.parametrize(
    "values", [[0.0, 5e-324], [0.0, 1e-320, 2e-320, 3e-320], [0.0, 1e-310, 2e-308, -3e-320]]
)
def test_numbers_next_to_nothing_are_numbers(method: str, values: list[float]) -> None:
    table = pl.DataFrame({"x": values * 4})
    schema = covey.Schema.of(quasi={"x": {"type": "numeric", "domain": [-1, 1]}})
    for known in (schema, covey.Schema.of(quasi={"x": "numeric"})):
        release = covey.anonymize(table, known, require=covey.KAnonymity(3), method=method)
        assert release.report.to_json()
        assert release.report.losses.gcp is not None
        assert 0 <= release.report.losses.gcp <= 1


def test_a_grid_far_wider_than_the_column_loses_everything() -> None:
    table = pl.DataFrame({"x": [0.0, 5e-324] * 4})
    schema = covey.Schema.of(quasi={"x": {"type": "numeric", "grid": 0.5}})
    release = covey.anonymize(table, schema, require=covey.KAnonymity(8))
    assert release.report.losses.gcp == 1


# ── fractions ───────────────────────────────────────────────────────────────────────────────────

THIRDS = pl.DataFrame({"q": [1, 1, 1, 9, 9, 9], "s": ["a", "a", "b"] * 2})
THIRDS_SCHEMA = covey.Schema.of(quasi={"q": "numeric"}, sensitive=["s"])


@pytest.mark.parametrize("alpha", ["2/3", "4/6", Fraction(2, 3), "2/3:a"])
def test_two_thirds_are_two_thirds(alpha: Any, tmp_path: Path) -> None:
    asked = covey.AlphaK.parse("s", alpha)
    release = covey.anonymize(THIRDS, THIRDS_SCHEMA, require=[covey.KAnonymity(3), asked])
    assert release.verdict.classes == 2
    assert release.write(tmp_path / "o.csv").to_json()
    assert covey.verify(THIRDS, THIRDS_SCHEMA, asked).holds


def test_what_is_a_little_less_than_two_thirds_is_refused_before_the_work() -> None:
    """Groups are formed and judged by what the digits say, which is not 2/3."""
    asked: list[Requirement] = [covey.KAnonymity(3), covey.AlphaK(2 / 3, "s")]
    with pytest.raises(InfeasibleError, match=r"alpha \(s\)"):
        covey.anonymize(THIRDS, THIRDS_SCHEMA, require=asked)


def mixed(rows: int = 60) -> tuple[pl.DataFrame, covey.Schema]:
    """A table that keeps 2/3 in many ways, but for many groups only at the very border."""
    cells = {
        "q": [i // 3 for i in range(rows)],
        "s": [("a", "a", "b", "c")[i % 4] for i in range(rows)],
    }
    return pl.DataFrame(cells), THIRDS_SCHEMA


@pytest.mark.parametrize("alpha", [2 / 3, Fraction(2, 3), 0.6666666666666667, 0.6])
def test_groups_are_judged_by_the_number_that_formed_them(alpha: Any) -> None:
    table, schema = mixed()
    asked: list[Requirement] = [covey.KAnonymity(3), covey.AlphaK(alpha, "s")]
    assert covey.anonymize(table, schema, require=asked).verdict.holds


def test_with_a_little_room_for_rounding_the_judge_would_refuse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The sabotaged build: kernels take the float as it is, and cannot tell it from 2/3."""
    monkeypatch.setattr(
        constraints, "reachable", lambda asked, _: (Fraction(asked), Fraction(asked))
    )
    table, schema = mixed()
    asked: list[Requirement] = [covey.KAnonymity(3), covey.AlphaK(2 / 3, "s")]
    with pytest.raises(covey.ViolationError):
        covey.anonymize(table, schema, require=asked)


@pytest.mark.parametrize("asked", [2 / 3, 0.1, 0.123456789, 1e-9, 0.9999999999, Fraction(355, 113)])
@pytest.mark.parametrize("parts", [1, 2, 7, 60, 1000])
def test_the_nearest_figures_that_a_table_can_have(asked: Any, parts: int) -> None:
    exact = asked if isinstance(asked, Fraction) else Fraction(repr(asked))
    low, high = reachable(asked, parts)
    best_low = max(Fraction(exact * d // 1, d) for d in range(1, parts + 1))
    best_high = min(Fraction(-(-exact * d // 1), d) for d in range(1, parts + 1))
    assert (low, high) == (best_low, best_high)


@pytest.mark.parametrize(
    ("model", "setting"),
    [("l", "entropy:3/2"), ("l", "recursive:2:5/2"), ("t", "1/3"), ("t", "equal:1/3"),
     ("beta", "7/3"), ("beta", "basic:7/3"), ("delta", "9/4")],
)  # fmt: skip
def test_every_number_may_be_a_fraction(model: str, setting: str) -> None:
    table, schema = mixed()
    asked: list[Requirement] = [covey.KAnonymity(3), SENSITIVE_MODELS[model].parse("s", setting)]
    release = covey.anonymize(table, schema, require=asked)
    assert release.report.to_json()
    from_toml = covey.Schema.of(
        quasi={"q": "numeric"}, sensitive=["s"], require={"k": 3, model: {"s": setting}}
    )
    assert from_toml.requirements()[1:] == schema.requirements(asked)[1:]


# ── bad cells ───────────────────────────────────────────────────────────────────────────────────

ZOE = "Zoe"


def cells(column: dict[str, Any], values: list[str], tmp_path: Path) -> str:
    """What is said of a CSV file with these values, after a column with line breaks in it."""
    path = tmp_path / "people.csv"
    lines = [f'"two\nlines",{value}' for value in values]
    path.write_text("\n".join(["note,x", *lines]) + "\n")
    sensitive = {"x": column} if column.get("role") == "sensitive" else {}
    quasi: dict[str, Any] = {} if sensitive else {"x": column}
    schema = covey.Schema.of(
        quasi=quasi or {"note": "categorical"},
        sensitive={n: {k: v for k, v in c.items() if k != "role"} for n, c in sensitive.items()},
        insensitive=["note"] if quasi else [],
    )
    with pytest.raises((TableError, TaxonomyError)) as caught:
        covey.anonymize(path, schema, require=covey.KAnonymity(2))
    assert ZOE not in str(caught.value)
    assert str(tmp_path) not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("column", "good"),
    [
        ({"type": "numeric"}, "1"),
        ({"type": "numeric", "role": "sensitive"}, "1"),
        ({"type": "date"}, "2024-05-31"),
        ({"type": "date", "role": "sensitive"}, "2024-05-31"),
        ({"type": "categorical", "taxonomy": {"All": ["a", "b"]}}, "a"),
        ({"type": "categorical", "taxonomy": {"build": "intervals", "widths": [5]}}, "1"),
        ({"type": "categorical", "taxonomy": {"build": "dates"}}, "2024-05-31"),
    ],
)
def test_a_bad_cell_is_told_by_file_column_and_row(
    column: dict[str, Any], good: str, tmp_path: Path
) -> None:
    message = cells(column, [good, good, ZOE, good, ZOE], tmp_path)
    assert "people.csv" in message
    assert "column 'x'" in message
    assert "2 rows" in message
    assert "row 3 (line 6)" in message


def test_a_bad_cell_keeps_its_place_where_labels_are_normalised(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"x,town\n1,Rome\n{ZOE},rome \n2,Oslo\n")
    town = {"type": "categorical", "normalise": ["strip", "casefold"]}
    schema = covey.Schema.of(quasi={"x": "numeric", "town": town})
    with pytest.raises(TableError, match=r"people\.csv: column 'x': 1 row .* row 2 \(line 3\)"):
        covey.anonymize(path, schema, require=covey.KAnonymity(2))


@pytest.mark.parametrize("kind", ["frame", "parquet"])
def test_a_nul_is_told_by_column_and_row(kind: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [1, 2, 3], "ill": ["a", None, f"{ZOE}\0"]})
    schema = covey.Schema.of(quasi={"x": "numeric"}, sensitive=["ill"])
    frame.write_parquet(tmp_path / "t.parquet")
    source = frame if kind == "frame" else tmp_path / "t.parquet"
    with pytest.raises(TableError, match=r"column 'ill': 1 row with a NUL .*row 3") as caught:
        covey.anonymize(source, schema, require=covey.KAnonymity(3))
    assert ZOE not in str(caught.value)
    assert ("t.parquet" in str(caught.value)) == (kind == "parquet")
    with pytest.raises(TableError, match=r"column 2 .*NUL"):
        covey.inspect(frame.rename({"ill": f"{ZOE}\0"}))


def test_a_number_outside_its_domain_or_beyond_all_is_told_so_too(tmp_path: Path) -> None:
    message = cells({"type": "numeric", "domain": [0, 5]}, ["1", "9", "2"], tmp_path)
    assert "row 2 (line 4)" in message
    assert "row 3 (line 6)" in cells({"type": "numeric"}, ["1", "2", f"{2**60}"], tmp_path)
    assert "row 2 (line 4)" in cells({"type": "numeric", "missing": "error"}, ["1", ""], tmp_path)


def test_a_bad_cell_of_a_dataframe_or_a_release_has_a_row(tmp_path: Path) -> None:
    schema = covey.Schema.of(quasi={"x": "numeric"})
    with pytest.raises(TableError, match="row 2") as caught:
        covey.anonymize(pl.DataFrame({"x": ["1", ZOE, "2"]}), schema, require=covey.KAnonymity(2))
    assert "line" not in str(caught.value)
    released = tmp_path / "released.csv"
    released.write_text(f'x\n"[1, 2]"\n"[1, 2]"\n{ZOE}\n')
    with pytest.raises(TableError, match=r"released\.csv: column 'x': 1 row .* row 3 \(line 4\)"):
        covey.measure(pl.DataFrame({"x": [1, 2, 2]}), released, schema)


def test_decimal_commas_may_go_to_parquet(tmp_path: Path) -> None:
    path = tmp_path / "de.csv"
    path.write_text("alter;gehalt\n30,5;1,5\n31;2,5\n30,5;1,5\n31;2,5\n32;1,5\n33;2,5\n")
    schema = covey.Schema.of(quasi={"alter": "numeric"}, sensitive={"gehalt": "numeric"})
    asked: list[Requirement] = [covey.KAnonymity(2), covey.TCloseness(0.5, "gehalt")]
    release = covey.anonymize(path, schema, require=asked)
    release.write(tmp_path / "o.parquet")
    assert covey.verify(tmp_path / "o.parquet", schema, asked).holds
    before = release.report.losses.total_il
    assert covey.measure(path, tmp_path / "o.parquet", schema).total_il == before


# ── machines ────────────────────────────────────────────────────────────────────────────────────

SOURCE = Path(covey.__file__).parents[1]


def python(*arguments: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **settings)


@pytest.mark.slow
def test_without_docstrings_methods_and_commands_still_say_what_they_do() -> None:
    program = "from covey.cli import main; print(main.run(['methods']), main.run(['--help']))"
    usual, without = (python(*flags, "-c", program) for flags in ([], ["-OO"]))
    assert without.stdout == usual.stdout
    assert "Draft a schema" in without.stdout
    assert without.stdout.endswith("0 0\n")


LIMITED = (
    "import resource, sys; limit = int(sys.argv.pop(1)) * 2**20;"
    "resource.setrlimit(resource.RLIMIT_AS, (limit, limit));"
    "from covey.__main__ import main; main()"
)


@pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")
@pytest.mark.parametrize("megabytes", [150, 500, 700, 760, 1000, 1300])
def test_with_too_little_memory_it_says_so(folder: Path, megabytes: int) -> None:
    request = ["anonymize", "people.csv", "-s", "people.toml", "-k", "5", "-o", "out.csv"]
    done = python("-c", LIMITED, str(megabytes), *request, timeout=60)
    assert done.returncode == 1
    assert "not enough memory" in done.stderr
    assert "Traceback" not in done.stderr
    assert not any("out.csv" in path.name or "draft" in path.name for path in folder.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")
def test_a_process_that_dies_for_want_of_memory_is_told_by_its_parent(folder: Path) -> None:
    """What allocators of libraries do: end the whole process, with a word or two."""
    dying = (
        "import os, covey.cli.main, covey.cli.memory\n"
        "covey.cli.memory.needed = lambda _: 0\n"
        "covey.cli.main.main = lambda: (os.write(2, b'alloc'), os.abort())\n"
    ) + LIMITED
    done = python("-c", dying, "3000", "verify", cwd=folder)
    assert done.returncode == 1
    assert done.stderr.startswith("covey: error: not enough memory")


@pytest.mark.parametrize(
    ("error", "short"),
    [
        (MemoryError(), True),
        (OSError(12, "Cannot allocate memory"), True),
        (RuntimeError("can't start new thread"), True),
        (ImportError("x.so: failed to map segment from shared object"), True),
        (OSError(2, "No such file"), False),
        (ValueError("memory"), False),
    ],
)
def test_how_too_little_memory_shows(error: BaseException, short: bool) -> None:
    assert is_out_of_memory(error) is short


@pytest.mark.parametrize("module", ["typer", "rich.console", "covey.errors", "covey.cli.main"])
def test_interrupted_while_it_is_loaded_it_says_so(module: str) -> None:
    tried = (
        "import sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}: exec('raise KeyboardInterrupt')\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "from covey.__main__ import main\nmain()\n"
    )
    done = python("-c", tried)
    assert done.returncode == 130
    assert done.stderr == "covey: error: interrupted\n"


@pytest.mark.parametrize("module", ["polars", "pydantic", "covey.verification"])
def test_interrupted_while_a_command_is_loaded_too(folder: Path, module: str) -> None:
    tried = (
        "import sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}: raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "from covey.__main__ import main\nmain()\n"
    )
    done = python("-c", tried, "verify", "people.csv", "-s", "people.toml", "-k", "2")
    assert done.returncode == 130
    assert "Traceback" not in done.stderr


def test_the_error_of_an_option_is_a_usage_error() -> None:
    from covey.clustering.request import parse_options

    with pytest.raises(UsageError, match="too long"):
        parse_options([f"a={THOUSANDS}"])
