"""What reaches a terminal: no control sequences, whatever the names; and who may read files."""

import json
import os
import re
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covey
from covey.cli import main as cli
from covey.cli import shown as display
from covey.cli import terminal
from covey.errors import percent
from covey.tables.csv_files import Dialect
from covey.tables.formulas import defused, meant, runs

ESC = "\x1b[2J\x1b]0;owned\x07"
TURNED = "\u202egnp"
NAMES = [f"a{ESC}", f"b{TURNED}", "c\x9b31m", "d\u2028e\x7f"]
COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({name: [f"{i % 3}" for i in range(12)] for name in NAMES})
    frame.write_csv("t.csv")
    lines = [f'[columns.{json.dumps(NAMES[0])}]\nrole = "quasi"\ntype = "numeric"\n']
    lines += [f'[columns.{json.dumps(n)}]\nrole = "sensitive"\n' for n in NAMES[1:]]
    Path("t.toml").write_text("".join(lines).replace("\\u007f", "\\u007F"))
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ["inspect", "t.csv"],
        ["anonymize", "t.csv", "-s", "t.toml", "-k", "3", "-o", "out.csv"],
        ["anonymize", "t.csv", "-s", "t.toml", "-k", "3", "-o", "out.csv", "--json"],
        ["verify", "t.csv", "-s", "t.toml", "-k", "3"],
        ["verify", "t.csv", "-s", "t.toml", "-k", "3", "--json"],
        ["measure", "t.csv", "t.csv", "-s", "t.toml"],
        ["measure", "t.csv", "t.csv", "-s", "t.toml", "--json"],
        ["verify", "t.csv", "-s", "t.toml", "-k", "3", "-l", f"nobody{ESC}=2"],
        ["verify", f"no{ESC}.csv", "-s", "t.toml", "-k", ESC],
        ["anonymize", "t.csv", "-s", "t.toml", "-k", "3", "-o", "out.csv", "--method", ESC],
        [f"no{ESC}command{TURNED}"],
        ["verify", f"--no{ESC}"],
    ],
)
def test_no_name_commands_the_terminal(
    folder: Path, arguments: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    cli.run(arguments)
    printed = "".join(capfd.readouterr())
    assert printed
    assert not COMMANDS.search(printed)
    if arguments[0] in ("inspect", "measure", "anonymize"):
        assert "1b" in printed  # shown, and not left out


def test_the_old_console_would_have_sent_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The sabotaged build: text goes to the terminal as it is."""
    monkeypatch.setattr(terminal, "visible", lambda text, **_: text)
    monkeypatch.setattr(display, "visible", lambda text, **_: text)
    cli.run(["verify", "t.csv", "-s", "t.toml", "-k", "3"])
    assert COMMANDS.search("".join(capfd.readouterr()))


def test_a_draft_that_is_printed_says_the_same(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cli.run(["inspect", "t.csv"])
    printed = tomllib.loads(capfd.readouterr().out)
    assert list(printed["columns"]) == NAMES


@given(st.text())
def test_what_is_visible_is_safe_and_otherwise_the_same(text: str) -> None:
    shown = terminal.visible(text)
    assert not COMMANDS.search(shown)
    shown.encode()  # no half of a sign is left
    if text.isprintable():
        assert shown == text


def test_a_name_cannot_begin_a_line_of_its_own(capfd: pytest.CaptureFixture[str]) -> None:
    terminal.say("column a\ncovey: all is well")
    assert capfd.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("share", "written"),
    [
        (0.0, "0.0"),
        (0.0004, "< 0.1"),
        (0.34215, "34.2"),
        (0.9999, "> 99.9"),
        (sum([0.1] * 10), "100.0"),
    ],
)
def test_percentages_need_no_sign_that_a_stream_may_lack(
    share: float, written: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """A page has a thin space before the percent sign, which few encodings know."""
    assert percent(share) == f"{written}\u2009%"
    terminal.out.print(percent(share))
    terminal.say(percent(share))
    assert capfd.readouterr() == (f"{written} %\n", f"covey: {written} %\n")
    terminal.give(json.dumps(percent(share), ensure_ascii=False))
    printed = capfd.readouterr().out
    assert printed.isascii()
    assert json.loads(printed) == percent(share)


@pytest.mark.parametrize("before", [None, 0o644, 0o666])
def test_costs_are_readable_by_their_owner_alone(folder: Path, before: int | None) -> None:
    if before is not None:
        Path("costs.csv").touch()
        Path("costs.csv").chmod(before)
    request = ["-s", "t.toml", "-k", "3", "-o", "out.csv", "--costs", "costs.csv"]
    assert cli.run(["anonymize", "t.csv", *request]) == 0
    assert stat.S_IMODE(Path("costs.csv").stat().st_mode) == 0o600
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(Path("out.csv").stat().st_mode) == 0o666 & ~mask


# ── formulas ────────────────────────────────────────────────────────────────────────────────────

STARTS = [
    *(
        "=1",
        "'=1",
        "''=1",
        " =1",
        "\u3000=1",
        "\xa0+1",
        "\n=1",
        "\nx",
        "＝1",
        "＋x",
        "＠",
        "\u200b-x",
    ),
    *(f"{unseen}=1" for unseen in "\xad\u034f\u180e\u2065\u2066\ufffc\u2800\U000e0041"),
]


def test_what_spreadsheets_run_gets_an_apostrophe_and_the_rest_stays() -> None:
    others = ["-5", " -5", "+1.5e3", "a=1", "'a", "", "–5", "[-5, 3]"]
    found = defused(pl.Series([*STARTS, *others]), Dialect()).to_list()
    assert found == [*(f"'{text}" for text in STARTS), *others]


@given(
    st.lists(
        st.builds(str.__add__, st.sampled_from(["'", "''", "=", "-", " ", "\n", ""]), st.text()),
        unique=True,
    )
)
def test_no_two_texts_become_one_and_each_is_known_again(texts: list[str]) -> None:
    cells = pl.Series(texts, dtype=pl.String)
    safe = defused(cells, Dialect())
    assert safe.n_unique() == len(texts)
    assert not (runs(safe, Dialect()) & ~safe.str.starts_with("'")).any()
    assert meant(safe.to_list(), set(texts), Dialect()) == texts


def test_two_values_stay_two_for_diversity_and_the_count_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"age": [1, 1, 2, 2], "s": ["=1", "'=1"] * 2}).write_csv("t.csv")
    Path("t.toml").write_text(
        '[columns.age]\nrole = "quasi"\ntype = "numeric"\n[columns.s]\nrole = "sensitive"\n'
        "[require]\nk = 2\nl = { s = 2 }\n"
    )
    assert cli.run(["anonymize", "t.csv", "-s", "t.toml", "-o", "o.csv", "--report", "r.json"]) == 0
    assert "4 cells" in capfd.readouterr().err
    assert sorted(pl.read_csv("o.csv")["s"]) == ["''=1", "''=1", "'=1", "'=1"]
    assert json.loads(Path("r.json").read_text())["output"]["defused"] == 4
    assert cli.run(["verify", "o.csv", "-s", "t.toml"]) == 0


def test_a_quasi_identifier_is_read_back_by_what_it_meant(tmp_path: Path) -> None:
    """Both labels are known, so only that the mapping can be undone tells them apart."""
    schema = covey.Schema.of(quasi={"q": "categorical"})
    table = pl.DataFrame({"q": ["=1", "=1", "'=1", "'=1"]})
    release = covey.anonymize(table, schema, require=covey.KAnonymity(2))
    release.write(tmp_path / "o.csv")
    assert covey.measure(table, tmp_path / "o.csv", schema).total_il == 0


# ── streams ─────────────────────────────────────────────────────────────────────────────────────


def shell(redirections: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = f"exec {sys.executable} -m covey {' '.join(arguments)} {redirections}"
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize(
    ("redirections", "arguments", "code", "told"),
    [
        (">&-", ["methods"], 2, "standard output cannot be written"),
        ("> /dev/full", ["methods"], 2, "standard output cannot be written"),
        ("> /dev/full", ["methods", "--json"], 2, "standard output cannot be written"),
        ("> /dev/full", ["--help"], 2, "standard output cannot be written"),
        ("> /dev/full", ["--version"], 2, "standard output cannot be written"),
        ("2>&-", ["methods"], 0, ""),
        ("2> /dev/full", ["nonsense"], 2, ""),
        ("2>&-", ["nonsense"], 2, ""),
        ("<&- >&- 2>&-", ["nonsense"], 2, ""),
    ],
)
def test_a_stream_that_is_closed_or_full(
    redirections: str, arguments: list[str], code: int, told: str
) -> None:
    done = shell(redirections, *arguments)
    assert done.returncode == code
    assert told in done.stderr
    assert not re.search("Traceback|internal|Exception", done.stderr)


def test_a_table_from_a_closed_stream_is_an_error(folder: Path) -> None:
    done = shell("<&-", "anonymize", "-", "-s", "t.toml", "-k", "3", "-o", "out.csv")
    assert done.returncode == 2
    assert "the table cannot be read" in done.stderr
    assert not Path("out.csv").exists()


def test_a_release_with_all_streams_closed_holds_the_release_alone(folder: Path) -> None:
    """Files get the numbers of closed streams, and what a library tells goes into them."""
    Path("talk.py").write_text(
        "import os\nfrom covey.cli import terminal\nterminal.open_streams()\n"
        "handle = open('file', 'w')\nassert handle.fileno() > 2\n"
        "try: os.write(2, b'told')\nexcept OSError: pass\n"
    )
    subprocess.run(["sh", "-c", f"{sys.executable} talk.py <&- >&- 2>&-"], check=True)
    assert Path("file").read_bytes() == b""
