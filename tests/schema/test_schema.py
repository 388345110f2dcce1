"""Every rule of a schema; its messages name settings and columns, never the rejected value."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from covey.errors import SchemaError, TaxonomyError
from covey.schema import Column, ColumnType, MissingPolicy, Role, Schema, TaxonomyBuilder
from covey.schema.requirements import KAnonymity
from covey.schema.taxonomy import MEASURES, Taxonomy, flat
from examples import examples

SECRET = "Quetzalcoatl"
FAR = float("inf")
NOT = float("nan")


def column(**settings: Any) -> Column:
    """One quasi-identifier, the way a file declares it."""
    return Schema.from_dict({"columns": {"x": {"role": "quasi", **settings}}}).columns["x"]


def built(build: str, **settings: Any) -> dict[str, Any]:
    return {"type": "categorical", "taxonomy": {"build": build, **settings}}


def refusal(settings: Mapping[str, Any]) -> str:
    with pytest.raises(SchemaError) as caught:
        Schema.from_dict(settings)
    message = str(caught.value)
    assert SECRET not in message
    assert "\n" not in message
    return message


def refused(**settings: Any) -> str:
    message = refusal({"columns": {"x": {"role": "quasi", **settings}}})
    assert message.startswith("column 'x': ")
    return message


# ── columns ─────────────────────────────────────────────────────────────────────────────────────


def test_what_is_not_said_has_a_default() -> None:
    plain = column(type="numeric")
    assert plain == Column(role=Role.QUASI, type=ColumnType.NUMERIC)
    assert (plain.weight, plain.missing) == (1.0, MissingPolicy.CATEGORY)
    assert (plain.grid, plain.domain, plain.taxonomy, plain.format) == (None, None, None, None)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"type": "numeric", "weight": 2}, {"weight": 2.0}),
        ({"type": "numeric", "missing": "drop-row"}, {"missing": MissingPolicy.DROP_ROW}),
        ({"type": "numeric", "missing": "error"}, {"missing": MissingPolicy.ERROR}),
        ({"type": "date", "missing": "wildcard"}, {"missing": MissingPolicy.WILDCARD}),
        ({"type": "numeric", "grid": 5}, {"grid": 5.0}),
        ({"type": "numeric", "grid": 0.1}, {"grid": 0.1}),
        ({"type": "numeric", "domain": [0, 120]}, {"domain": (0.0, 120.0)}),
        ({"type": "date", "grid": "month"}, {"grid": "month"}),
        ({"type": "date", "grid": "quarter"}, {"grid": "quarter"}),
        ({"type": "date", "grid": "year", "format": "%d.%m.%Y"}, {"format": "%d.%m.%Y"}),
        ({"type": "categorical", "taxonomy": "t.csv"}, {"taxonomy": Path("t.csv")}),
        ({"type": "categorical", "taxonomy": Path("t.csv")}, {"taxonomy": Path("t.csv")}),
        ({"type": "categorical", "taxonomy": {"A": ["b"]}}, {"taxonomy": {"A": ["b"]}}),
        ({"type": "categorical", "taxonomy": {"build": ["b"]}}, {"taxonomy": {"build": ["b"]}}),
        (
            built("prefixes", lengths=[3]),
            {"taxonomy": TaxonomyBuilder(build="prefixes", lengths=(3,))},
        ),
        (
            built("intervals", widths=[5, 10]),
            {"taxonomy": TaxonomyBuilder(build="intervals", widths=(5, 10))},
        ),
    ],
)
def test_settings_that_go_together(settings: dict[str, Any], expected: dict[str, Any]) -> None:
    made = column(**settings)
    assert {name: getattr(made, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "needs a type"),
        ({"type": SECRET}, "type: "),
        ({"type": "numeric", "role": SECRET}, "role: "),
        ({"type": "numeric", "missing": SECRET}, "missing: "),
        ({"type": "numeric", "wieght": 2}, "wieght: unknown"),
        ({"type": "numeric", "weight": 0}, "weight: "),
        ({"type": "numeric", "weight": -1}, "weight: "),
        ({"type": "numeric", "weight": FAR}, "weight: "),
        ({"type": "numeric", "weight": NOT}, "weight: "),
        ({"type": "numeric", "weight": SECRET}, "weight: "),
        ({"type": "categorical", "grid": 5}, '"grid" is only for numbers and dates'),
        ({"type": "categorical", "grid": "year"}, '"grid" is only for numbers and dates'),
        ({"type": "numeric", "grid": "month"}, "the grid of numbers"),
        ({"type": "date", "grid": 7}, 'of dates, one of "hour", "day", "week"'),
        ({"type": "date", "grid": "decade"}, "grid"),
        ({"type": "numeric", "grid": SECRET}, "grid"),
        ({"type": "numeric", "grid": 0}, "between 1e-9 and 2^53"),
        ({"type": "numeric", "grid": -5}, "between 1e-9 and 2^53"),
        ({"type": "numeric", "grid": FAR}, "between 1e-9 and 2^53"),
        ({"type": "numeric", "grid": NOT}, "between 1e-9 and 2^53"),
        ({"type": "numeric", "domain": [5, 5]}, "a lower and a higher number"),
        ({"type": "numeric", "domain": [9, 5]}, "a lower and a higher number"),
        ({"type": "numeric", "domain": [NOT, 5]}, "domain"),
        ({"type": "numeric", "domain": [0, FAR]}, "domain"),
        ({"type": "numeric", "domain": [-FAR, 0]}, "domain"),
        ({"type": "numeric", "domain": [0]}, "domain"),
        ({"type": "numeric", "domain": [0, SECRET]}, "domain"),
        ({"type": "categorical", "taxonomy": 5}, "taxonomy: a taxonomy must be"),
        ({"type": "categorical", "taxonomy": [SECRET]}, "taxonomy: a taxonomy must be"),
        (built(SECRET), "taxonomy.build: "),
        (built("intervals"), "needs widths"),
        (built("intervals", widths=[0]), "taxonomy.widths"),
        (built("intervals", widths=[FAR]), "taxonomy.widths"),
        (built("intervals", widths=[5, SECRET]), "taxonomy.widths"),
        (built("intervals", widths=[5], origin=FAR), "taxonomy.origin"),
        (built("intervals", widths=[5], origin=NOT), "taxonomy.origin"),
        (built("prefixes", lengths=[0]), "taxonomy.lengths"),
        (built("flat", wieght=1), "taxonomy.wieght: unknown"),
        ({"type": "numeric", "missing_values": [True]}, "missing_values"),
        ({"type": "numeric", "unreadable": "guess"}, "unreadable"),
    ],
)
def test_settings_that_do_not(settings: dict[str, Any], message: str) -> None:
    found = refused(**settings)
    assert any(part in found for part in message.split("|"))


@pytest.mark.parametrize("role", ["identifier", "sensitive", "insensitive", "drop"])
def test_other_roles_need_no_type(role: str) -> None:
    made = Schema.from_dict({"columns": {"x": {"role": role}}})
    assert made.columns["x"].role == role
    assert made.quasi == {}


@pytest.mark.parametrize("role", ["identifier", "insensitive", "drop"])
def test_columns_that_are_not_judged_mind_no_settings(role: str) -> None:
    odd = {"role": role, "type": "date", "grid": 5, "taxonomy": {"build": "flat"}}
    assert Schema.from_dict({"columns": {"x": odd}}).columns["x"].grid == 5


def test_a_column_needs_a_role() -> None:
    assert refusal({"columns": {"x": {"type": "numeric"}}}) == "column 'x': role: is required"


def test_columns_do_not_change() -> None:
    with pytest.raises(ValidationError):
        column(type="numeric").weight = 5  # type: ignore[misc]


def test_no_taxonomy_is_said_by_none() -> None:
    assert column(type="categorical", taxonomy=None).taxonomy is None


@given(st.sampled_from(list(ColumnType)), st.data())
@examples(150)
def test_each_setting_has_its_type(kind: ColumnType, data: st.DataObject) -> None:
    """Any combination of good settings is refused just where one goes with another type."""
    pool: dict[str, tuple[Any, set[ColumnType]]] = {
        "taxonomy": ({SECRET: ["a"]}, {ColumnType.CATEGORICAL}),
        "normalise": (["strip"], {ColumnType.CATEGORICAL}),
        "recode": ({SECRET: "a"}, {ColumnType.CATEGORICAL}),
        "domain": ([0, 9], {ColumnType.NUMERIC}),
        "render": ("mean", {ColumnType.NUMERIC}),
        "format": ("%Y", {ColumnType.DATE}),
        "unreadable": ("missing", {ColumnType.NUMERIC, ColumnType.DATE}),
        "weight": (2.5, set(ColumnType)),
        "missing": ("error", set(ColumnType)),
    }
    chosen = data.draw(st.sets(st.sampled_from(sorted(pool))))
    given_settings = {name: pool[name][0] for name in chosen}
    wrong = {name for name in chosen if kind not in pool[name][1]}
    if wrong:
        message = refused(type=str(kind), **given_settings)
        assert all(f'"{name}" is only for' in message for name in wrong)
    else:
        assert column(type=str(kind), **given_settings).type is kind


# ── taxonomies ──────────────────────────────────────────────────────────────────────────────────


def paths(column: Column, values: list[str]) -> list[list[str]]:
    return list(column.taxonomy_over(values).paths())


def test_a_taxonomy_is_made_from_whatever_was_given(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a;A;*\nb;A;*\n", encoding="utf-8")
    expected = [["a", "A", "*"], ["b", "A", "*"]]
    assert paths(column(type="categorical", taxonomy=tmp_path / "t.csv"), ["a"]) == expected
    assert paths(column(type="categorical", taxonomy=str(tmp_path / "t.csv")), []) == expected
    nested = {"*": {"A": ["a", "b"]}}
    assert paths(column(type="categorical", taxonomy=nested), ["a"]) == expected
    ready = column(type="categorical", taxonomy=nested).taxonomy_over([])
    assert column(type="categorical", taxonomy=ready).taxonomy_over(["z"]) is ready
    assert paths(column(type="categorical"), ["b", "a"]) == [["a", "*"], ["b", "*"]]


@pytest.mark.parametrize(
    ("builder", "values", "expected"),
    [
        ({"build": "flat"}, ["b", "a"], [["a", "*"], ["b", "*"]]),
        ({"build": "prefixes"}, ["12"], [["12", "1*", "*"]]),
        ({"build": "prefixes", "lengths": [2]}, ["1234"], [["1234", "12**", "*"]]),
        ({"build": "intervals", "widths": [5]}, ["7"], [["7", "[5, 9]", "*"]]),
        ({"build": "intervals", "widths": [5], "origin": 2}, ["7"], [["7", "[7, 11]", "*"]]),
        ({"build": "dates"}, ["2024-05-31"], [["2024-05-31", "2024-05", "2024-Q2", "2024", "*"]]),
    ],
)
def test_builders(builder: dict[str, Any], values: list[str], expected: list[list[str]]) -> None:
    made = column(type="categorical", taxonomy=builder)
    assert paths(made, values) == expected
    nothing = made.taxonomy_over([])
    assert (nothing.labels, nothing.leaf_count) == (("*",), 0)


def test_a_taxonomy_that_is_none_is_found_out_when_it_is_needed() -> None:
    made = column(type="categorical", taxonomy={"A": [SECRET, SECRET]})
    with pytest.raises(TaxonomyError, match="1 leaf with more than one line"):
        made.taxonomy_over([])
    with pytest.raises(TaxonomyError, match="cannot be read"):
        column(type="categorical", taxonomy="nowhere.csv").taxonomy_over([])


# ── whole schemas ───────────────────────────────────────────────────────────────────────────────


def test_columns_by_role_in_the_order_of_the_schema() -> None:
    schema = Schema.from_dict(
        {
            "columns": {
                "name": {"role": "identifier"},
                "zip": {"role": "quasi", "type": "categorical"},
                "note": {"role": "insensitive"},
                "age": {"role": "quasi", "type": "numeric"},
                "disease": {"role": "sensitive"},
            }
        }
    )
    assert schema.names(Role.QUASI) == list(schema.quasi) == ["zip", "age"]
    assert schema.names(Role.SENSITIVE, Role.INSENSITIVE) == ["note", "disease"]
    assert schema.names(Role.IDENTIFIER) == ["name"]
    assert schema.names() == []


@pytest.mark.parametrize("k", [2, 10, 10**12])
def test_a_schema_may_ask_for_k(k: int) -> None:
    schema = Schema.from_dict({"columns": {}, "require": {"k": k}})
    assert schema.requirements() == (KAnonymity(k),)
    assert schema.requirements([KAnonymity(3)]) == (KAnonymity(3),)
    assert schema.requirements([]) == ()
    assert Schema.from_dict({"columns": {}}).requirements() == ()


@pytest.mark.parametrize("k", [1, 0, -2, 2.0, "5", True, SECRET, FAR])
def test_k_is_a_whole_number_of_at_least_2(k: object) -> None:
    assert refusal({"columns": {}, "require": {"k": k}}).startswith("require.k: ")


@pytest.mark.parametrize("measure", MEASURES)
def test_a_schema_names_its_measure(measure: str) -> None:
    assert Schema.from_dict({"columns": {}, "loss": measure}).loss == measure
    assert Schema.from_dict({"columns": {}}).loss == "height"


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"loss": SECRET}, "loss: "),
        ({"table": {"delimiter": ";;"}}, "table.delimiter: "),
        ({"table": {"delimiter": ""}}, "table.delimiter: "),
        ({"table": {"decimal": ";"}}, "table.decimal: "),
        ({"table": {"thousands": "."}}, "must differ from the decimal sign"),
        ({"table": {"missing": [1]}}, "table.missing.0: "),
        ({"table": {"encodign": "utf-8"}}, "table.encodign: unknown"),
        ({"require": {"l": 2}}, "require.l: must be a table"),
        ({"require": {"m": 2}}, "require.m: unknown"),
        ({"colums": {}}, "colums: unknown"),
        ({"columns": []}, "columns: "),
        ({"columns": {"x": "quasi"}}, "column 'x': must be a table"),
    ],
)
def test_other_tables_of_a_file(settings: dict[str, Any], place: str) -> None:
    assert place in refusal({"columns": {}, **settings})


def test_columns_are_needed() -> None:
    assert refusal({}) == "columns: is required"
    with pytest.raises(SchemaError):
        Schema.from_dict([])  # type: ignore[arg-type]


def test_all_mistakes_are_told_at_once() -> None:
    message = refusal(
        {
            "columns": {
                "a": {"role": SECRET},
                "b": {"role": "quasi"},
                "c": {"role": "quasi", "type": "numeric", "weight": -1, "missing": SECRET},
                "d": {"role": "quasi", "type": "categorical", "taxonomy": {"build": SECRET}},
                "e": {"role": "quasi", "type": "date", "grid": 3},
                "f": {"role": "quasi", "type": "numeric", "colour": SECRET},
            },
            "require": {"k": 1},
            "loss": SECRET,
        }
    )
    for place in (
        "column 'a': role: ",
        "column 'b': a quasi-identifier needs a type",
        "column 'c': weight: ",
        "column 'c': missing: ",
        "column 'd': taxonomy.build: ",
        "column 'e': the grid of numbers",
        "column 'f': colour: unknown",
        "require.k: ",
        "loss: ",
    ):
        assert place in message
    assert message.count("; ") >= 8


def test_all_settings_of_one_column_that_go_with_other_types_are_told() -> None:
    message = refused(type="categorical", domain=[0, 1], format="%Y", grid=5)
    assert all(f'"{name}" is only for' in message for name in ("domain", "format", "grid"))


# ── from python ─────────────────────────────────────────────────────────────────────────────────


def test_roles_by_name() -> None:
    tree = flat(["a", "b"])
    made = Schema.of(
        quasi={
            "age": "numeric",
            "zip": {"type": "categorical", "weight": 2, "taxonomy": {"build": "prefixes"}},
            "sex": Column(role=Role.QUASI, type=ColumnType.CATEGORICAL, taxonomy=tree),
        },
        sensitive=["disease"],
        identifier=["name"],
        insensitive=["note", "ward"],
        require={"k": 5},
        loss="ncp",
        table={"decimal": ","},
    )
    assert list(made.columns) == ["age", "zip", "sex", "disease", "name", "note", "ward"]
    assert made.columns["age"] == Column(role=Role.QUASI, type=ColumnType.NUMERIC)
    assert made.columns["zip"].weight == 2
    assert isinstance(made.columns["sex"].taxonomy, Taxonomy)
    assert made.names(Role.SENSITIVE) == ["disease"]
    assert made.names(Role.IDENTIFIER) == ["name"]
    assert made.names(Role.INSENSITIVE) == ["note", "ward"]
    assert made.requirements() == (KAnonymity(5),)
    assert (made.loss, made.table.decimal) == ("ncp", ",")


def test_a_single_name_is_not_a_list_of_letters() -> None:
    made = Schema.of(quasi={"age": "numeric"}, sensitive="disease")
    assert made.names(Role.SENSITIVE) == ["disease"]


def test_quasi_identifiers_come_with_types() -> None:
    with pytest.raises(SchemaError, match="quasi="):
        Schema.of(quasi=["age"])  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="column 'age': type: "):
        Schema.of(quasi={"age": SECRET})
    with pytest.raises(SchemaError, match="column 'age': a quasi-identifier needs a type"):
        Schema.of(quasi={"age": {}})


@pytest.mark.parametrize("setting", [5, None, ["numeric"]])
def test_a_quasi_identifier_is_a_type_or_settings(setting: Any) -> None:
    with pytest.raises(SchemaError, match="'age'"):
        Schema.of(quasi={"age": setting})


@pytest.mark.parametrize("role", ["insensitive", "sensitive", "identifier", "drop"])
def test_a_quasi_identifier_cannot_be_given_another_role(role: str) -> None:
    """It would be released as it is, by somebody who asked for its protection."""
    with pytest.raises(SchemaError, match="'age'"):
        Schema.of(quasi={"age": {"role": role, "type": "numeric"}})
    with pytest.raises(SchemaError, match="'age'"):
        Schema.of(quasi={"age": Column(role=Role(role))})


def test_a_dropped_column_is_never_a_person() -> None:
    with pytest.raises(SchemaError, match="'who'"):
        Schema.of(quasi={"age": "numeric"}, drop=["who"], require={"k": 2, "person": "who"})


def test_a_column_has_one_role() -> None:
    with pytest.raises(SchemaError, match="column 'age' has two roles"):
        Schema.of(quasi={"age": "numeric"}, sensitive=["age"])
    with pytest.raises(SchemaError, match="column 'x' has two roles"):
        Schema.of(quasi={"age": "numeric"}, sensitive=["x"], identifier=["x"])


def test_unknown_settings_of_a_schema() -> None:
    with pytest.raises(SchemaError, match="requires: unknown"):
        Schema.of(quasi={"age": "numeric"}, requires={"k": 5})


# ── from files ──────────────────────────────────────────────────────────────────────────────────


EXAMPLE = """
loss = "lm"
[columns]
name = { role = "identifier" }
age = { role = "quasi", type = "numeric", grid = 5, domain = [0, 120] }
zip = { role = "quasi", type = "categorical", taxonomy = { build = "prefixes" } }
born = { role = "quasi", type = "date", format = "%d.%m.%Y", grid = "year" }
job = { role = "quasi", type = "categorical", taxonomy = "trees/job.csv", missing = "error" }
disease = { role = "sensitive" }
[columns.place]
role = "quasi"
type = "categorical"
weight = 2
[columns.place.taxonomy.World]
Europe = ["Oslo", "Rome"]
Africa = ["Lagos"]
[require]
k = 5
[table]
delimiter = ";"
missing = ["", "?"]
"""


def test_a_schema_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Taxonomy files lie beside the schema, wherever it is read from."""
    folder = tmp_path / "of the schema"
    (folder / "trees").mkdir(parents=True)
    (folder / "trees" / "job.csv").write_text("a;*\nb;*\n", encoding="utf-8")
    (folder / "schema.toml").write_text(EXAMPLE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    schema = Schema.from_toml("of the schema/schema.toml")
    assert schema.names(Role.QUASI) == ["age", "zip", "born", "job", "place"]
    assert schema.columns["age"].domain == (0, 120)
    assert schema.columns["born"].grid == "year"
    assert schema.columns["job"].missing is MissingPolicy.ERROR
    assert schema.columns["job"].taxonomy == Path("of the schema/trees/job.csv")
    assert paths(schema.columns["job"], []) == [["a", "*"], ["b", "*"]]
    assert paths(schema.columns["place"], []) == [
        ["Oslo", "Europe", "World"],
        ["Rome", "Europe", "World"],
        ["Lagos", "Africa", "World"],
    ]
    assert schema.requirements() == (KAnonymity(5),)
    assert (schema.loss, schema.table.delimiter, schema.table.missing) == ("lm", ";", ("", "?"))


def test_an_absolute_taxonomy_stays_where_it_is(tmp_path: Path) -> None:
    tree = tmp_path / "elsewhere.csv"
    file = tmp_path / "schema.toml"
    file.write_text(
        f'columns.x = {{ role = "quasi", type = "categorical", taxonomy = "{tree}" }}',
        encoding="utf-8",
    )
    assert Schema.from_toml(file).columns["x"].taxonomy == tree


def refused_file(path: Path) -> str:
    with pytest.raises(SchemaError) as caught:
        Schema.from_toml(path)
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "columns.x = {",
        f'columns.x = "{SECRET}',
        f"columns.x = {SECRET}",
        f"[columns]\nx = {{ {SECRET} = 1, {SECRET} = 2 }}",
        f"[columns.x.taxonomy]\n{SECRET} = ['a']\n{SECRET} = ['b']",
        f"[columns.x.taxonomy.{SECRET}]\na = ['a']\n[columns.x.taxonomy.{SECRET}]",
        f"[columns.x.taxonomy]\n{SECRET}.a = ['a']\n[columns.x.taxonomy.{SECRET}]\n",
    ],
    ids=["open", "unclosed", "bare", "inline twice", "key twice", "table twice", "mixed twice"],
)
def test_files_that_are_not_toml(tmp_path: Path, text: str) -> None:
    """The message says where, not what: taxonomies in a schema hold the table's values."""
    (tmp_path / "schema.toml").write_text(text, encoding="utf-8")
    message = refused_file(tmp_path / "schema.toml")
    assert "TOML" in message
    assert "line" in message or "end of document" in message


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b'x = "\xe9"')
    assert "TOML" in refused_file(tmp_path / "latin.toml")
    assert "cannot be read: No such file" in refused_file(tmp_path / f"{SECRET}.toml")
    assert "cannot be read" in refused_file(tmp_path)
