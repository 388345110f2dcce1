"""Rows that are no people: found by what they hold, named by their rows, released by nobody."""

import csv
import io
import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import covey
from command_line import Folder
from covey import tables
from covey.engines import memory
from covey.errors import TableError
from covey.schema import TableFormat
from covey.tables import Table
from covey.tables.batches import batches
from covey.tables.merging import merged
from covey.tables.strays import Suspects
from invented_tables import TABLES, invented
from studios import inside, wait

HEAD = ["id", "age", "sex", "zip", "diagnosis", "income"]
Rows = list[list[Any]]


def people(number: int = 60) -> Rows:
    draw = random.Random(1)
    return [
        [f"P{i:04}", draw.randint(18, 90), draw.choice("mf"), 47000 + draw.randint(0, 99),
         draw.choice(["flu", "gout", "none"]), 100 * draw.randint(200, 900)]
        for i in range(number)
    ]  # fmt: skip


def total(rows: Rows, column: int) -> int:
    return sum(int(row[column]) for row in rows)


def written(rows: Rows, head: Sequence[str] = HEAD) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *rows])
    return text.getvalue().encode()


def read(rows: Rows, **declared: Any) -> Table:
    return tables.from_bytes(written(rows), None, TableFormat(**declared))


def found(table: Table) -> list[tuple[str, int | None, bool]]:
    return [(one.kind, one.number, one.is_clear) for one in table.strays]


GAP = [""] * 6
P = people()
IDS = [f'{{"ImportId":"QID{place}"}}' for place in range(6)]
ASKED = ["Respondent", "How old are you?", "Sex", "Your ZIP code?", "What ails you?", "Income?"]


@pytest.mark.parametrize(
    ("rows", "strays"),
    [
        *(
            ([*P, [word, "", "", "", "", total(P, 5)]], [("totals", 61)])
            for word in ("TOTAL", "Grand total:", "Summe", "Gesamt", "Somme", "Total général",
                         "Suma", "Totale", "Totaal", "Soma", "Razem:", "Ogółem", "Łącznie")
        ),
        ([*P, ["", total(P, 1), "", "", "", total(P, 5)]], [("totals", 61)]),  # no word
        ([*P, ["P9", total(P, 1), "m", 47001, "flu", total(P, 5)]], [("totals", 61)]),  # no gap
        ([*P, ["P9", "Total", "m", 47001, "flu", 5]], [("totals", 61)]),  # in a column of numbers
        ([*P, ["Average", "52.1", "", "", "", "50012.3"]], [("totals", 61)]),
        (
            [*P[:30], ["Subtotal North", *GAP[2:], 5], *P[30:], ["Subtotal South", *GAP[2:], 7]],
            [("totals", 31), ("totals", 62)],
        ),
        ([*P[:30], HEAD, *P[30:]], [("headers", 31)]),
        ([ASKED, IDS, *P], [("headers", 1), ("headers", 2)]),  # as Qualtrics writes them
        ([["", "years", "", "", "", "EUR"], *P], [("headers", 1)]),
        ([*P, GAP, GAP], [("blank", 61), ("blank", 62)]),
        ([*P, GAP, ["Quelle: KIS, 2024", *GAP[1:]]], [("blank", 61), ("notes", 62)]),
        ([*P, ["", "n = 60", *GAP[2:]]], [("notes", 61)]),
        ([*P, ["* as exported by the ward for the study", *GAP[1:]]], [("notes", 61)]),
    ],
)  # fmt: skip
def test_strays_are_found_by_what_they_hold(rows: Rows, strays: list[tuple[str, int]]) -> None:
    assert found(read(rows)) == [(kind, row, True) for kind, row in strays]


@pytest.mark.parametrize(
    "rows",
    [
        P,
        [*P, ["P0099", *GAP[1:]]],  # enrolled, and nothing known
        [*P, ["P0099", "unknown", "m", 47001, "flu", "unknown"]],
        [*P, ["P0099", "refused", "m", "refused", "flu", "refused"]],
        [[i, a, s, z, "Total" if n % 3 else "none", e] for n, (i, a, s, z, _, e) in enumerate(P)],
        [[*row[:4], "Total knee replacement", row[5]] for row in P],
        [[row[0], *GAP[1:]] if n % 3 else row for n, row in enumerate(P)],
    ],
)
def test_people_are_no_strays(rows: Rows) -> None:
    assert found(read(rows)) == []


def test_doubtful_rows_are_only_named() -> None:
    rows = [*P, ["P0061", 41, "m", 47001, "Total", 30_000]]
    assert found(read(rows)) == [("totals", 61, False)]
    assert release(rows).report.rows.read == 61


@pytest.mark.slow
def test_a_total_of_very_many_columns_is_found() -> None:
    rows: Rows = [[n + place % 7 for place in range(1_001)] for n in range(30)]
    sums = [sum(column) for column in zip(*rows, strict=True)]
    data = written([*rows, sums], [f"x{place}" for place in range(1_001)])
    table = tables.from_bytes(data, None, TableFormat())
    assert [kind for kind, _, _ in found(table)] == ["totals"]


def test_rows_without_cells_may_be_people_of_a_sparse_table() -> None:
    draw = random.Random(2)
    cells = [[draw.choice([draw.randint(1, 9), None]) for _ in range(4)] for _ in range(200)]
    table = tables.read(pl.DataFrame(cells, schema=list("abcd"), orient="row"))
    assert {one.is_clear for one in table.strays} == {False}


@pytest.mark.parametrize("name", TABLES)
def test_invented_tables_have_no_strays(name: str) -> None:
    frame, _ = invented(name)
    assert found(tables.read(frame)) == []


def test_real_tables_have_no_strays(shared_data: Path) -> None:
    paths = [p for name in ("people", "casc", "nist") for p in (shared_data / name).iterdir()]
    strays = {p.name: found(tables.read(p)) for p in paths if p.suffix in (".csv", ".asc", ".gz")}
    assert len(strays) > 8
    assert not any(strays.values()), strays


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blank_lines_are_no_rows_and_count_as_lines(end: str, tmp_path: Path) -> None:
    text = 'id,age\n\n1,"2\n\n3"\n\n\n4,x\n\n5,6\n\n'.replace("\n", end)
    (tmp_path / "t.csv").write_text(text, newline="")
    declared = TableFormat(header=True)
    whole = tables.read(tmp_path / "t.csv", declared=declared)
    for table in (whole, batches(tmp_path / "t.csv", declared=declared).together()):
        assert table.frame["id"].to_list() == ["1", "4", "5"]
    (part,) = batches(tmp_path / "t.csv", declared=declared)
    for line_of in (whole.line_of, part.line_of):
        assert line_of is not None
        assert [line_of(row) for row in range(3)] == [3, 8, 10]
    assert found(whole) == []


# ── nothing is released as a person before it was said ──────────────────────────────────────────

SCHEMA = covey.Schema.of(
    quasi={"age": "numeric", "zip": "categorical"},
    sensitive=["diagnosis"], identifier=["id"], insensitive=["sex", "income"],
    require={"k": 4, "person": False},
)  # fmt: skip
ROWS = [*P, ["Summe", "", "", "", "", total(P, 5)], GAP]


def release(rows: Rows, **settings: Any) -> covey.Release:
    frame = pl.read_csv(written(rows), infer_schema=False).fill_null("")
    return covey.anonymize(frame, SCHEMA, key=bytes(32), **settings)


def in_parts(folder: Path, rows: Rows, **table: Any) -> covey.Release:
    (folder / "in.csv").write_bytes(written(rows))
    schema = SCHEMA.model_copy(update={"table": TableFormat(**table)})
    return covey.anonymize(
        folder / "in.csv", schema, to=f"{folder}/out/", key=bytes(32), register=False, part_rows=30
    )


def test_undecided_rows_are_refused(tmp_path: Path) -> None:
    for refused in (partial(release, ROWS), partial(in_parts, tmp_path, ROWS)):
        with pytest.raises(TableError, match=r"2 rows .*totals \(row 61\).*blank \(row 62\)"):
            refused()
    with pytest.raises(TableError, match="blank"):
        release(ROWS, drop_rows=["totals"])  # what was decided about others decides nothing here
    assert not (tmp_path / "out").exists()


def test_a_footer_hides_a_person_less_in_a_build_that_asks_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The attack: of whom a class hides, some are no people."""
    rows = [*P, *([f"Subtotal {n}", *GAP[2:], 9] for n in range(6))]

    def smallest(released: covey.Release) -> int:
        shown = np.array([row < len(P) for row in released.rows])
        classes = released.table.select("age", "zip").with_columns(person=pl.Series(shown))
        people = classes.group_by("age", "zip").agg(pl.col("person").sum())["person"]
        return min(map(int, people))

    assert smallest(release(rows, keep_rows=["totals"])) < 4
    assert smallest(release(rows, drop_rows=["totals"])) >= 4
    with pytest.raises(TableError, match="6 rows"):
        release(rows)
    monkeypatch.setattr(memory, "refuse_undecided", lambda *_: None)
    assert smallest(release(rows)) < 4


def test_dropped_rows_leave_no_trace(tmp_path: Path) -> None:
    plain, dropped = release(P), release(ROWS, drop_rows=["totals", "blank"])
    assert dropped.table.equals(plain.table)
    assert (dropped.report.rows.read, dropped.rows.max()) == (60, 59)
    assert any("totals" in note for note in dropped.report.warnings)
    made = in_parts(tmp_path, [*P[:30], HEAD, *ROWS[30:]], drop_rows=("totals", "blank", "headers"))
    assert made.report.rows.read == 60


def test_kept_rows_are_people(tmp_path: Path) -> None:
    kept = release([*P, GAP], keep_rows=["blank"])
    assert kept.report.rows.read == 61
    assert in_parts(tmp_path, [*P, GAP], keep_rows=("blank",)).report.rows.read == 61


def test_a_kind_of_rows_is_dropped_or_kept() -> None:
    with pytest.raises(ValueError, match="totals"):
        TableFormat(drop_rows=("totals",), keep_rows=("totals",))
    declared = TableFormat(keep_rows=("totals",)).declaring(TableFormat(drop_rows=("totals",)))
    assert (declared.drop_rows, declared.keep_rows) == (("totals",), None)
    assert declared.of_release().drop_rows is None


def test_batches_find_what_the_whole_table_has() -> None:
    for rows in (ROWS, [ASKED, IDS, *P], [*P[:30], HEAD, *P[30:], GAP]):
        table = read(rows)
        places = [np.arange(start, min(start + 25, len(rows))) for start in (0, 25, 50)]
        parts = (table.with_rows(table.frame[some], some) for some in places)
        together = merged(map(Suspects.of, parts))
        assert together is not None
        assert together.found == Suspects.of(table).found


# ── drafts, the command line and the studio ─────────────────────────────────────────────────────


def test_a_draft_is_of_people_and_says_how_to_drop_the_rest(folder: Folder) -> None:
    (folder.path / "t.csv").write_bytes(written([ASKED, *P, ["Razem", *GAP[1:]]]))
    draft = covey.inspect(folder.path / "t.csv")
    assert draft.rows == 60
    assert draft.schema.columns["age"] == covey.inspect(tables.read(read(P))).schema.columns["age"]
    settings = [f.setting for f in draft.findings if f.kind in ("totals", "headers")]
    assert settings == [{"drop_rows": ["headers"]}, {"drop_rows": ["totals"]}]
    assert 'drop_rows = ["headers", "totals"]' in draft.to_toml()


def test_the_command_line_drops_rows(folder: Folder) -> None:
    (folder.path / "t.csv").write_bytes(written(ROWS))
    asked = ("anonymize", "t.csv", "--quasi", "age,zip", "-k", "4", "-o", "o.csv", "--no-register")
    assert folder.covey(*asked).code == 2
    assert folder.covey(*asked, "--drop-rows", "totals,blank", "--count-rows").code == 0
    assert len((folder.path / "o.csv").read_text().splitlines()) == 61


def test_the_studio_drops_rows_by_one_click(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(written([*P, ["Summe", *GAP[1:]]]))
    with inside(tmp_path) as studio:
        studio.opening(tmp_path / "t.csv")
        assert studio.studio.table.rows == 61
        studio.post("make/start")
        way = wait(lambda: studio.get("make").text.partition("in the way")[2])
        way = way.partition("</section>")[0]
        assert [p in way for p in ('href="open"', "--drop-rows", "Use k")] == [True, False, False]
        for action, rows, decided in (
            ("mend", 60, ("totals",)), ("unmend", 61, None), ("keep", 61, None), ("undo", 61, None),
        ):  # fmt: skip
            studio.post(f"open/{action}", {"finding": "0"})
            assert (studio.studio.table.rows, studio.studio.schema.table.drop_rows) == (
                rows,
                decided,
            )
