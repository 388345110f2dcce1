"""What inspection says about a table: findings with counts, never cells; drafts that work."""

import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covey
from command_line import Folder
from covey.inspection import relations
from covey.inspection.draft import Draft
from covey.inspection.facts import look
from covey.inspection.findings import Finding
from covey.schema import Role
from covey.tables import Table
from covey.tables.codebook import Codebook
from examples import examples
from strategies import frames, texts
from tables_of_people import people

CANARY = "Zq7canary"


def draft_of(**columns: list[Any]) -> Draft:
    return covey.inspect(pl.DataFrame(columns, strict=False))


def found(draft: Draft, kind: str) -> dict[str | None, Finding]:
    return {finding.column: finding for finding in draft.findings if finding.kind == kind}


# ── sentinels ───────────────────────────────────────────────────────────────────────────────────

AGES = [n * 37 % 71 + 18 for n in range(300)]  # 18 to 88


@pytest.mark.parametrize(
    ("values", "listed"),
    [
        ([*AGES, 999], (999,)),
        ([*AGES, -1, -1, -1, -1, -1, -1], (-1,)),
        ([*AGES, *[-9] * 4, *[-8] * 2], (-9, -8)),
        ([*AGES, *[777] * 2, *[999] * 3], (777, 999)),
        ([*AGES, 99], None),  # an old man
        ([*AGES, *[99] * 40], (99,)),  # 40 of that age, and nobody of 89 to 98
        ([*AGES, 97, 98, 99], None),
        ([*AGES, 531], None),  # far away, but nobody's sentinel: a value is never named
        ([n * 7 % 970 + 30 for n in range(400)] + [999], None),  # one of many up to 999
        ([n % 15 for n in range(300)] + [99] * 3, (99,)),
        ([1, 2, 3, 4, 5] * 60 + [-1] * 5, ("-1",)),  # a few codes: as written
        ([-1, 0, 1] * 100, None),  # worse, the same, better
        ([92, 95, 99] * 100, None),
        ([1, 2, 1, 2, 99] * 60, ("99",)),
        ([1, 2, 1, 2, -99] * 60, ("-99",)),
    ],
)
def test_sentinels_are_far_from_everything(values: list[int], listed: tuple[Any, ...]) -> None:
    column = draft_of(x=values).schema.columns["x"]
    assert column.missing_values == listed


def test_bounds_and_grid_are_those_without_sentinels() -> None:
    plain = draft_of(age=AGES).schema.columns["age"]
    odd = draft_of(age=[*AGES, *[999] * 20, *[-1] * 20]).schema.columns["age"]
    assert (odd.grid, odd.bottom, odd.top) == (plain.grid, plain.bottom, plain.top)


def test_sentinel_dates_are_listed_as_iso() -> None:
    days = [f"{n % 28 + 1:02}.{n % 12 + 1:02}.{1950 + n % 50}" for n in range(300)]
    draft = draft_of(born=[*days, *["01.01.1900"] * 3, "31.12.9999"])
    assert draft.schema.columns["born"].missing_values == ("1900-01-01", "9999-12-31")
    assert "4 rows" in found(draft, "missing_values")["born"].text
    assert draft_of(born=days).schema.columns["born"].missing_values is None


def test_labels_of_a_codebook_say_what_is_missing_and_what_a_column_is() -> None:
    book = Codebook({"v1": "Patient number", "v2": "Diagnosis"}, {"v3": {"9": "Refused", "1": "a"}})
    frame = pl.DataFrame(
        {
            "v1": [str(n * 77 % 4001) for n in range(300)],
            "v2": [f"d{n % 9}" for n in range(300)],
            "v3": [str((1, 2, 9)[n % 3]) for n in range(300)],
        }
    )
    columns = covey.inspect(Table(frame, codebook=book)).schema.columns
    assert columns["v1"].role is Role.IDENTIFIER
    assert columns["v2"].role is Role.SENSITIVE
    assert columns["v3"].missing_values == ("9",)


def test_a_few_cells_that_are_no_numbers_do_not_matter() -> None:
    draft = draft_of(value=[*map(str, AGES), "<0,1", CANARY])
    assert draft.schema.columns["value"].unreadable == "missing"
    assert "2 rows" in found(draft, "unreadable")["value"].text
    mixed = draft_of(value=[*map(str, AGES[:150]), *[f"w{n % 7}" for n in range(150)]])
    assert mixed.schema.columns["value"].unreadable is None
    assert "50.0" in found(mixed, "mixed")["value"].text


def test_typos_are_counted_and_not_shown() -> None:
    towns = [*["Springfield"] * 80, *["Shelbyville"] * 80, "Springfeld", "Shelbyvile", "Ogdenville"]
    draft = draft_of(town=towns, age=list(range(len(towns))))
    assert "2 rare labels" in found(draft, "typos")["town"].text
    assert "springf" not in draft.to_toml().lower()
    assert found(draft_of(ward=[f"Ward {'AB'[n % 2]}" for n in range(200)]), "typos") == {}


def test_what_the_whole_table_is_like() -> None:
    draft = draft_of(
        constant=["a"] * 100,
        empty=[None] * 100,
        rare=[None] * 98 + ["x", "y"],
        twice=[n // 2 for n in range(100)],
    )
    assert set(found(draft, "constant")) == {"constant", "empty"}
    assert set(found(draft, "mostly missing")) == {"rare"}
    assert "49 rows" in found(draft, "duplicates")[None].text  # the last two differ in rare
    assert found(draft_of(x=["a"] * 9), "no quasi-identifier")


# ── what the columns reveal together ────────────────────────────────────────────────────────────


@examples(60)
@given(frames(texts | st.sampled_from(["a", "b"]) | st.none()))
def test_unique_rows_are_those_that_counting_finds(frame: pl.DataFrame) -> None:
    columns = [frame[name] for name in frame.columns]
    counted = relations.uniqueness(columns)

    def alone(names: list[str]) -> int:
        rows = frame.select(names).rows() if names else []
        return sum(times == 1 for times in Counter(rows).values())

    assert counted.together == alone(frame.columns)
    for name in frame.columns:
        others = [other for other in frame.columns if other != name]
        assert counted.without[name] == alone(others)


def test_large_tables_are_counted_by_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relations, "_MOST_ROWS", 100)
    counted = relations.uniqueness([pl.Series("x", range(1000))])
    assert (counted.rows, counted.together, counted.sampled) == (100, 100, True)
    draft = draft_of(x=[n % 700 for n in range(1000)], y=["a", "b"] * 500)
    assert "sample of 100 rows" in found(draft, "unique rows")[None].text


def test_columns_that_tell_the_same_are_named() -> None:
    zips = [f"{80331 + 13 * (n % 40)}" for n in range(400)]
    draft = draft_of(
        zip=zips,
        town=[f"town {int(cell) % 7}" for cell in zips],
        dept_code=[str(n % 12 + 1) for n in range(400)],
        dept=[f"dept {n % 12}" for n in range(400)],
        born=[f"{1930 + n % 70}-05-{n % 28 + 1:02}" for n in range(400)],
        age=[94 - n % 70 for n in range(400)],
        free=[f"f{n * n % 11}" for n in range(400)],
    )
    told = {name: f.text for name, f in found(draft, "dependent").items()}
    assert set(told) == {"town", "dept_code", "born"}
    assert "'zip'" in told["town"]
    assert "'dept'" in told["dept_code"]
    assert "'age'" in told["born"]


def test_rare_values_follow_from_nothing() -> None:
    """A flag that nearly nobody has is the same in nearly all groups, by chance."""
    columns = draft_of(
        place=[f"p{n % 20}" for n in range(400)],
        kind=["x"] * 396 + ["a", "b", "c", "d"],
    )
    assert found(columns, "dependent") == {}


def test_relations_tolerate_typos_but_no_contradictions() -> None:
    zips = [f"z{n % 40}" for n in range(800)]
    towns = [f"t{n % 40 % 9}" for n in range(800)]
    for wrong, related in ((3, True), (200, False)):
        odd = [f"t{n * n % 9}" if n < wrong else town for n, town in enumerate(towns)]
        frame = Table(pl.DataFrame({"a": zips, "b": odd}))
        assert bool(relations.relations([look(frame, "a"), look(frame, "b")])) is related


# ── roles that the caller gives ─────────────────────────────────────────────────────────────────


def test_given_roles_keep_drafted_types() -> None:
    frame = pl.DataFrame(
        {"age": AGES, "name": [f"n{n}" for n in range(300)], "z": ["a", "b"] * 150}
    )
    draft = covey.inspect(frame, quasi=["age", "name"], sensitive=["z"], k=7)
    columns = draft.schema.columns
    assert [c.role.value for c in columns.values()] == ["quasi", "quasi", "sensitive"]
    assert (columns["age"].grid, draft.schema.require.k) == (5, 7)
    rest = covey.inspect(frame, quasi="age", rest="insensitive").schema.columns
    assert [c.role.value for c in rest.values()] == ["quasi", "insensitive", "insensitive"]


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({"quasi": ["agee"]}, "'age'"),
        ({"quasi": ["age"], "sensitive": ["age"]}, "two roles"),
        ({"rest": "harmless"}, "insensitive"),
    ],
)
def test_wrong_roles_are_refused(given_: dict[str, Any], said: str) -> None:
    with pytest.raises(covey.UsageError, match=said):
        covey.inspect(pl.DataFrame({"age": [1, 2]}), **given_)


def test_the_command_takes_roles_and_shows_everything(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    rows = "".join(f"{n},{n % 7},{'mf'[n % 2]}\n" for n in range(120))
    folder.write("in.csv", f'"a,b",second column with a long name,c\n{rows}')
    ran = folder.covey(
        *("inspect", "in.csv", "-o", "d.toml", "--quasi", "a,b", "--sensitive"),
        *("c,second column with a long name", "-k", 5),
    )
    assert ran.code == 0
    drafted = tomllib.loads((folder.path / "d.toml").read_text())
    assert [c["role"] for c in drafted["columns"].values()] == ["quasi", "sensitive", "sensitive"]
    assert drafted["require"]["k"] == 5
    assert "covey anonymize in.csv --schema d.toml" in ran.err
    assert "…" not in ran.err  # nothing is cut
    assert max(map(len, ran.err.splitlines()[:-1])) <= 80
    wrong = folder.covey("inspect", "in.csv", "--quasi", "a,b,d")
    assert (wrong.code, "no column 'a'" in wrong.err) == (2, True)


# ── properties ──────────────────────────────────────────────────────────────────────────────────


def told(draft: Draft) -> str:
    findings = "\n".join(f"{f} {dict(f.setting)}" for f in draft.findings)
    return f"{draft.to_toml()}\n{findings}\n{draft!r}\n{draft._repr_html_()}"


@examples(100)
@given(frames().filter(lambda frame: frame.height > 0))
def test_any_table_is_inspected_and_its_draft_loads_again(frame: pl.DataFrame) -> None:
    draft = covey.inspect(frame)
    loaded = covey.Schema.from_dict(tomllib.loads(draft.to_toml()))
    assert loaded == draft.schema
    assert covey.Schema.from_dict(tomllib.loads(loaded.to_toml())) == loaded


@examples(60)
@given(people(least=6))
def test_drafts_of_any_people_make_releases(case: Any) -> None:
    draft = covey.inspect(case.frame, k=2)
    require = covey.KAnonymity(2, person=False)
    if draft.schema.quasi:
        release = covey.anonymize(case.frame, draft.schema, require=require, effort="fast")
        assert release.verdict.holds
    else:
        assert found(draft, "no quasi-identifier")


@examples(60)
@given(st.data())
def test_no_cell_is_told(data: st.DataObject) -> None:
    """Cells of many shapes, all with a mark; the names of columns have none."""
    forms = ("{}", "{} Street 5", "Dr. {}", "{}@example.org", "{}-12", "1 {}", "{}  ", "{} 1900")
    form = data.draw(st.sampled_from(forms))
    labels = [form.format(f"{CANARY}{n}") for n in range(data.draw(st.integers(1, 30)))]
    names = ("diagnosis", "town", "name", "x", "zip", "age", "date", "comment", "sex")
    rows = data.draw(st.integers(10, 60))
    cells = st.sampled_from([*labels, labels[0].upper(), "m", "w", "12", "999", None])
    frame = pl.DataFrame(
        {
            name: data.draw(st.lists(cells, min_size=rows, max_size=rows))
            for name in data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
        },
        strict=False,
    )
    assert CANARY.lower() not in told(covey.inspect(frame)).lower()


def test_far_values_are_not_told() -> None:
    draft = draft_of(age=[*AGES, 531], income=[*[n * 31 for n in range(300)], 87_654_321])
    assert "531" not in told(draft)
    assert "1 row" in found(draft_of(age=[*AGES, 5310]), "far values")["age"].text
    assert found(draft_of(age=[*AGES, 104, *[999] * 9]), "far values") == {}
    assert "87654321" not in told(draft).replace(",", "")


# ── schemas as texts ────────────────────────────────────────────────────────────────────────────


def test_a_schema_is_written_read_changed_and_shown() -> None:
    schema = covey.Schema.of(
        quasi={
            "age": {"type": "numeric", "grid": 5, "top": 85, "missing_values": [999]},
            "zip": {"type": "categorical", "taxonomy": {"build": "prefixes", "lengths": [3]}},
            "born": {"type": "date", "bottom": "1930-12-31", "missing": "drop-row"},
            "area": {"type": "categorical", "taxonomy": {"all": {"n": ["a", "b"], "s": ["c"]}}},
        },
        sensitive={"ill": {"type": "categorical"}},
        require={"k": 5, "l": {"ill": "entropy:2"}, "person": False},
        loss="ncp",
        table={"delimiter": ";", "missing": ["NA"]},
    )
    assert covey.Schema.from_dict(tomllib.loads(schema.to_toml())) == schema
    assert list(schema.without("zip", "born", "area").columns) == ["age", "ill"]
    with pytest.raises(covey.SchemaError, match="ill"):
        schema.with_role("ill", "insensitive")  # there is a requirement on it
    assert schema.with_role("zip", "identifier").columns["zip"].taxonomy is None
    assert schema.with_settings("age", top=None, grid=10).columns["age"].bounds[1] == float("inf")
    assert schema.with_role("new", "quasi", type="numeric").quasi["new"].type == "numeric"
    with pytest.raises(covey.SchemaError, match="type"):
        schema.with_role("new", "quasi")
    with pytest.raises(covey.SchemaError, match="'absent'"):
        schema.with_settings("absent", top=3)
    for shown in (repr(schema), schema._repr_html_()):
        assert all(name in shown for name in schema.columns)


def test_paths_of_taxonomies_are_written_relative_to_the_file(tmp_path: Path) -> None:
    source = tmp_path / "trees" / "a.csv"
    schema = covey.Schema.of(quasi={"a": {"type": "categorical", "taxonomy": str(source)}})
    assert 'taxonomy = "trees/a.csv"' in schema.to_toml(tmp_path)


def test_a_draft_shows_itself(folder: Folder) -> None:
    draft = covey.inspect(folder.path / "people.csv")
    shown = draft._repr_html_()
    assert all(column.name in shown for column in draft.columns)
    assert "identifier" in repr(draft)


def test_rows_without_any_cell_are_found() -> None:
    frame = pl.DataFrame({"age": ["36", "", None, "41"] * 9, "sex": ["f", " ", None, ""] * 9})
    (found,) = (f for f in covey.inspect(frame).findings if f.kind == "blank")
    assert "18 rows" in found.text
    typed = pl.DataFrame({"age": [36, None, 41] * 9, "born": [None, None, 1980] * 9})
    assert any(f.kind == "blank" for f in covey.inspect(typed).findings)
    whole = pl.DataFrame({"age": [36, 41] * 9})
    assert not any(f.kind == "blank" for f in covey.inspect(whole).findings)
