"""Steps 2 and 3 of covey studio: roles, and how values may be shown."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.errors import TaxonomyError
from covey.schema import Column, Role, Schema, TableFormat
from covey.schema.taxonomy import Taxonomy, flat, from_nested, from_paths
from covey.studio import scales, trees
from covey.studio.columns import Appearance, Scale
from covey.studio.desk import Desk
from covey.studio.reading import Reading
from examples import examples
from studios import Inside, inside

# ── a table with all kinds of columns ───────────────────────────────────────────────────────────

AGES = [20 + (7 * row) % 60 for row in range(300)] + [99]
SEXES = ["f" if row % 2 else "m" for row in range(301)]
DAYS = [f"2023-{1 + row % 12:02}-{1 + row % 28:02}" for row in range(301)]
TOWNS = [("Bonn", "Köln", "Paris", "Lyon")[row % 4] for row in range(301)]
CODES = [f"{10000 + 37 * (row % 90)}" for row in range(301)]
ILLS = [("flu", "cold", "gout")[row % 3] for row in range(301)]
NAMES = ["age", "sex", "admitted", "town <b>", "zip", "diagnosis"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("studio") / "people.csv"
    rows = zip(AGES, SEXES, DAYS, TOWNS, CODES, ILLS, strict=True)
    lines = [",".join(NAMES), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def reading(table: str) -> Reading:
    return Reading(table, TableFormat())


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(tmp_path_factory.mktemp("desk"))


def look(desk: Desk, reading: Reading, name: str, **settings: Any) -> Appearance:
    column = Column(role=Role.QUASI, **settings)
    return desk.appearance(reading, name, column, 10)


def shown(found: Appearance) -> dict[tuple[str, ...], str]:
    return {example.values: example.shown for example in found.examples}


def told(found: Appearance) -> str:
    return " ".join(note.text for note in found.notes)


# ── the jobs ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("names", [("age",), ("age", "sex"), ("age", "town <b>", "zip")])
def test_unique_rows_are_those_that_python_counts(
    desk: Desk, reading: Reading, names: tuple[str, ...]
) -> None:
    cells = dict(zip(NAMES, (AGES, SEXES, DAYS, TOWNS, CODES, ILLS), strict=True))

    def unique(columns: tuple[str, ...]) -> int:
        rows = list(zip(*(cells[name] for name in columns), strict=True))
        return sum(times == 1 for times in Counter(rows).values()) if columns else 0

    found = desk.uniqueness(reading, names)
    assert (found.rows, found.together) == (301, unique(names))
    for name in names:
        rest = tuple(other for other in names if other != name)
        assert found.without[name] == unique(rest)


@pytest.mark.parametrize("name", NAMES)
def test_every_column_has_a_small_picture(desk: Desk, reading: Reading, name: str) -> None:
    picture = desk.histogram(reading, name)
    assert picture is not None
    assert picture.startswith("<svg")


@pytest.mark.parametrize(
    ("name", "kind"), [("age", "numeric"), ("admitted", "date"), ("diagnosis", "categorical")]
)
def test_a_column_that_others_know_gets_a_type(
    desk: Desk, reading: Reading, name: str, kind: str
) -> None:
    column = desk.drafted(reading, name, 10)
    assert (column.role, column.type) == (Role.QUASI, kind)


def test_numbers_are_shown_as_the_grid_says(desk: Desk, reading: Reading) -> None:
    found = look(desk, reading, "age", type="numeric", grid=5)
    ((values, cell),) = shown(found).items()
    low, high = map(int, cell.strip("[]").split(", "))
    assert low <= int(values[0]) < int(values[1]) <= high
    assert low % 5 == high % 5 == 0
    assert high - low in (5, 10)
    assert found.scale is not None


def test_an_end_is_open(desk: Desk, reading: Reading) -> None:
    found = look(desk, reading, "age", type="numeric", grid=5, bottom=25, top=75)
    assert shown(found)["20",] == "25 and less"
    assert shown(found)["99",] == "75 and more"


def test_a_group_is_shown_by_its_mean(desk: Desk, reading: Reading) -> None:
    ((values, cell),) = shown(look(desk, reading, "age", type="numeric", render="mean")).items()
    assert float(cell) == sum(map(float, values)) / 2


def test_dates_are_shown_by_their_unit(desk: Desk, reading: Reading) -> None:
    found = look(desk, reading, "admitted", type="date", grid="month")
    ((values, cell),) = shown(found).items()
    assert cell == f"[{values[0][:7]}-01, {cell[-11:-1]}]"
    assert cell[-11:-4] >= values[1][:7]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"grid": 500}, "wider than the range"),
        ({}, "exact values"),
        ({"render": "median"}, "exact value."),
        ({"grid": 5, "render": "mean"}, "compute the last one"),
        ({"grid": 5, "bottom": 40}, "beyond the lower end"),
        ({"grid": 1, "top": 99}, "fewer than k = 10"),
        ({"grid": 5}, "outermost step"),
        ({"grid": 5, "domain": (0, 80)}, "1 row outside the domain"),
    ],
)
def test_doubtful_scales_are_told(
    desk: Desk, reading: Reading, settings: dict[str, Any], words: str
) -> None:
    assert words in told(look(desk, reading, "age", type="numeric", **settings))


def test_a_column_that_is_no_number_is_told(desk: Desk, reading: Reading) -> None:
    found = look(desk, reading, "diagnosis", type="numeric")
    assert [note.kind for note in found.notes] == ["bad"]
    assert "301 rows" in told(found)


def test_the_tree_counts_rows_and_climbs(desk: Desk, reading: Reading) -> None:
    tree: dict[str, Any] = {
        "*": {"Germany": {"Bonn": {}, "Köln": {}}, "France": {"Paris": {}, "Lyon": {}}}
    }
    found = look(desk, reading, "town <b>", type="categorical", taxonomy=tree)
    assert found.branches is not None
    own = found.branches
    rows = dict(zip(own.tree.labels, own.rows, strict=True))
    assert rows["Germany"] == TOWNS.count("Bonn") + TOWNS.count("Köln")
    assert rows["*"] == 301
    assert set(shown(found).values()) == {"Germany", "*"}


def test_values_that_a_tree_lacks_are_told(desk: Desk, reading: Reading) -> None:
    tree: dict[str, Any] = {"*": {"Germany": {"Bonn": {}, "Köln": {}}, "Rome": {}}}
    found = look(desk, reading, "town <b>", type="categorical", taxonomy=tree)
    assert found.branches is not None
    assert set(found.branches.lacking) == {"Paris", "Lyon"}
    rows = TOWNS.count("Paris") + TOWNS.count("Lyon")
    assert f"2 values in {rows} rows" in told(found)
    assert "1 value of the tree in no row" in told(found)
    mended = trees.completed(found.branches.tree, found.branches.lacking)
    assert set(mended.leaves) == {*TOWNS, "Rome"}


def test_codes_are_shown_by_their_beginnings(desk: Desk, reading: Reading) -> None:
    builder = {"build": "prefixes", "lengths": [3]}
    found = look(desk, reading, "zip", type="categorical", taxonomy=builder)
    assert all(re.fullmatch(r"[0-9]{3}\*\*|\*", cell) for cell in shown(found).values())


def test_the_cuts_of_a_grid_are_drawn(desk: Desk, reading: Reading) -> None:
    plain, cut = (
        desk.cuts(reading, "age", Column(role=Role.QUASI, type="numeric", **more))
        for more in ({}, {"grid": 10, "top": 70})
    )
    assert plain is not None
    assert cut is not None
    lines = [len(re.findall(r"<line", picture)) for picture in (plain, cut)]
    assert lines[1] >= lines[0] + 6  # 20, 30, … 60, and the bound


# ── sliders ─────────────────────────────────────────────────────────────────────────────────────

WHOLE = st.integers(-1000, 100_000)


@given(WHOLE, st.integers(1, 50_000), st.sampled_from([None, 1.0, 5.0, 7.0, 250.0]))
@examples(100)
def test_every_position_is_a_setting(low: int, width: int, grid: float | None) -> None:
    scale = Scale(low, low + width, is_whole=True)
    column = Column(role=Role.QUASI, type="numeric", grid=grid)
    for which, options in (
        ("grid", scales.grids(scale, column)),
        ("bottom", scales.bottoms(scale, column)),
        ("top", scales.tops(scale, column)),
    ):
        assert None in options
        assert len(options) <= 300
        assert len(set(options)) == len(options)
        for place, option in enumerate(options):
            Column(role=Role.QUASI, type="numeric", **{which: option})
            assert scales.position(options, option) == place
    bottoms = [end for end in scales.bottoms(scale, column) if isinstance(end, float)]
    tops = [end for end in scales.tops(scale, column) if isinstance(end, float)]
    assert min(tops) <= low
    assert low + width <= max(bottoms)
    assert len(tops) == len(bottoms)


@pytest.mark.parametrize("grid", [None, "day", "week", "month", "quarter", "year"])
def test_ends_of_dates_lie_on_their_grid(grid: str | None) -> None:
    days = (date(1990, 3, 5) - date(1970, 1, 1)).days
    scale = Scale(days, days + 9_000, is_whole=True)
    column = Column(role=Role.QUASI, type="date", grid=grid)
    lower, upper = scales.bottoms(scale, column)[1:], scales.tops(scale, column)[:-1]
    assert 2 <= len(lower) == len(upper) <= 300
    assert all(isinstance(end, date) for end in (*lower, *upper))
    if grid == "year":
        assert {str(end)[5:] for end in upper} == {"01-01"}
        assert {str(end)[5:] for end in lower} == {"12-31"}


def test_a_typed_setting_stays_until_its_slider_moves() -> None:
    scale, column = Scale(0, 100, is_whole=True), Column(role=Role.QUASI, type="numeric", top=71.5)
    options = scales.tops(scale, column)
    assert abs(options[scales.position(options, 71.5)] - 71.5) <= 1  # type: ignore[operator]


# ── trees ───────────────────────────────────────────────────────────────────────────────────────

LABELS = st.text(min_size=1, max_size=4).filter(lambda text: text.strip() == text)


@st.composite
def some_trees(draw: st.DrawFn) -> Taxonomy:
    labels = draw(st.lists(LABELS, min_size=6, max_size=14, unique=True))
    root, one, two, inner, *leaves = labels
    below = [draw(st.sampled_from([[root], [one, root], [two, root], [inner, one, root]]))
             for _ in leaves]  # fmt: skip
    return from_paths([leaf, *path] for leaf, path in zip(leaves, below, strict=True))


def outline(tree: Taxonomy) -> set[tuple[str, ...]]:
    return {tuple(path) for path in tree.paths()}


@given(some_trees())
@examples(100)
def test_a_tree_in_a_schema_is_read_back(tree: Taxonomy) -> None:
    schema = Schema.of(quasi={"town": {"type": "categorical", "taxonomy": tree.nested()}})
    again = Schema.from_dict(tomllib.loads(schema.to_toml()))
    assert again == schema
    assert outline(again.columns["town"].taxonomy_over([])) == outline(tree)
    assert outline(from_nested(tree.nested())) == outline(tree)


@given(some_trees(), st.data())
@examples(100)
def test_moving_keeps_the_values_and_changes_the_group(tree: Taxonomy, data: st.DataObject) -> None:
    nodes = data.draw(st.lists(st.integers(0, tree.root - 1), min_size=1, max_size=4))
    to = data.draw(st.integers(tree.leaf_count, tree.root))
    try:
        moved = trees.moved(tree, nodes, to)
    except TaxonomyError:
        below = {tree.labels[node] for node in nodes}
        assert below & {tree.labels[up] for up in tree.ancestors[to] if up >= 0}
        return
    assert sorted(moved.leaves) == sorted(tree.leaves)
    path_of = {path[0]: path for path in moved.paths()}
    for node in nodes:
        if node < tree.leaf_count:
            assert tree.labels[to] in path_of[tree.labels[node]]
    untouched = set(tree.leaves) - {
        leaf for node in nodes for leaf in tree.leaves
        if tree.labels[node] in next(path for path in tree.paths() if path[0] == leaf)
    }  # fmt: skip
    before = {path[0]: path for path in tree.paths()}
    moved_groups = {tree.labels[node] for node in nodes}
    for leaf in untouched:
        if not moved_groups & set(before[leaf]):
            assert path_of[leaf] == before[leaf]


def test_groups_are_made_renamed_and_dissolved() -> None:
    tree = flat(["Bonn", "Köln", "Lyon", "Paris"])
    two = [tree.node_of["Bonn"], tree.node_of["Köln"]]
    grown = trees.grouped(tree, two, "Germany")
    assert ("Bonn", "Germany", "*") in outline(grown)
    assert ("Lyon", "*") in outline(grown)
    named = trees.renamed(grown, [grown.node_of["Germany"]], "Deutschland")
    assert ("Köln", "Deutschland", "*") in outline(named)
    assert outline(trees.dissolved(named, [named.node_of["Deutschland"]])) == outline(tree)
    emptied = trees.moved(named, [named.node_of["Bonn"], named.node_of["Köln"]], named.root)
    assert "Deutschland" not in emptied.labels


@pytest.mark.parametrize(
    "wrong",
    [
        lambda tree: trees.moved(tree, [], tree.root),
        lambda tree: trees.moved(tree, [tree.root], tree.root),
        lambda tree: trees.moved(tree, [0], 1),
        lambda tree: trees.grouped(tree, [0], "b"),
        lambda tree: trees.grouped(tree, [0], ""),
        lambda tree: trees.renamed(tree, [0], "c"),
        lambda tree: trees.dissolved(tree, [0]),
    ],
)
def test_changes_that_make_no_tree_are_refused(wrong: Any) -> None:
    with pytest.raises(TaxonomyError):
        wrong(flat(["a", "b"]))


# ── the pages ───────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    with inside(tmp_path_factory.mktemp("own")) as studio:
        yield studio


@pytest.fixture
def visitor(opened: Inside, table: str) -> Inside:
    assert "301 rows" in opened.send("open/path", path=table)
    return opened


def schema_of(visitor: Inside) -> Schema:
    """The schema that is offered for download."""
    return Schema.from_dict(tomllib.loads(visitor.page("files/covey.toml")))


def column_of(visitor: Inside, name: str) -> Column:
    return schema_of(visitor).columns[name]


def place(name: str) -> str:
    return str(NAMES.index(name))


def test_a_role_is_switched_and_taken_back(visitor: Inside) -> None:
    drafted = schema_of(visitor)
    visitor.send("roles/set", column=place("diagnosis"), role="quasi")
    assert column_of(visitor, "diagnosis").role is Role.QUASI
    assert column_of(visitor, "diagnosis").type == "categorical"
    visitor.send("open/undo", step="roles")
    assert schema_of(visitor) == drafted


def test_who_knows_a_column_decides_its_role(visitor: Inside) -> None:
    for who, role in (("neighbour", Role.QUASI), ("nobody", Role.SENSITIVE)):
        visitor.send("roles/knows", column=place("sex"), knows=who)
        assert column_of(visitor, "sex").role is role


def test_a_requirement_goes_with_the_role_of_its_column(visitor: Inside) -> None:
    studio = visitor.studio
    studio.history.change(schema=studio.schema.requiring(l={"diagnosis": 2}))
    visitor.send("roles/set", column=place("diagnosis"), role="insensitive")
    assert column_of(visitor, "diagnosis").role is Role.INSENSITIVE
    assert not schema_of(visitor).require.requirements()[1:]


def test_the_number_of_unique_people_is_told(visitor: Inside) -> None:
    for name in NAMES:
        role = "quasi" if name in ("age", "town <b>") else "drop"
        visitor.send("roles/set", column=place(name), role=role)
    unique = sum(times == 1 for times in Counter(zip(AGES, TOWNS, strict=True)).values())
    page = visitor.page("roles")
    assert f"{unique:,} of 301 people" in page
    assert "<bdi>age</bdi> and <bdi>town &lt;b&gt;</bdi>" in page


def test_no_column_turns_the_table_safer_by_being_called_harmless(visitor: Inside) -> None:
    def figures() -> tuple[int, int]:
        found = re.search(r"([0-9,]+) of 301 people", visitor.page("roles"))
        assert found is not None
        lone = visitor.page("roles").count("Why can nobody outside know")
        return int(found[1].replace(",", "")), lone

    before, _ = figures()
    for name in ("zip", "admitted"):
        visitor.send("roles/set", column=place(name), role="insensitive")
    assert figures() == (before, 1)
    assert "say why nobody outside can know" in visitor.send("roles/confirm")
    assert "in a few words" in visitor.send("roles/why", why=" ")
    visitor.send("roles/why", why="drawn at random")
    assert {column_of(visitor, name).confirmed for name in ("zip", "admitted")} == {
        "drawn at random"
    }
    assert figures() == (before, 0)
    assert "How may it be shown?</h1>" in visitor.send("roles/confirm")
    visitor.send("roles/set", column=place("zip"), role="quasi")
    assert column_of(visitor, "zip").confirmed is None


def test_roles_need_the_custodian_until_they_are_confirmed(visitor: Inside) -> None:
    stop = r'class="stop (\w+)"><a href="roles"'
    assert re.findall(stop, visitor.page("roles")) == ["needs"]
    assert "How may it be shown?</h1>" in visitor.send("roles/confirm")
    assert re.findall(stop, visitor.page("roles")) == ["done"]
    for name in NAMES:
        visitor.send("roles/set", column=place(name), role="insensitive")
    assert re.findall(stop, visitor.page("roles")) == ["needs"]
    assert "at least one column" in visitor.send("roles/confirm")


def test_k_counts_persons_by_a_column(visitor: Inside) -> None:
    visitor.send("roles/set", column=place("diagnosis"), role="identifier")
    visitor.send("roles/person", person=place("diagnosis"))
    assert schema_of(visitor).require.person == "diagnosis"
    visitor.send("roles/person", person="rows")
    assert schema_of(visitor).require.person is False
    visitor.send("roles/person", person=place("diagnosis"))
    visitor.send("roles/set", column=place("diagnosis"), role="quasi")
    assert schema_of(visitor).require.person is None


def test_a_scale_is_typed_and_slid(visitor: Inside) -> None:
    age = place("age")
    page = visitor.send(
        "shown/scale", column=age, grid="10", bottom="30", top="70", least="", most=""
    )
    column = column_of(visitor, "age")
    assert (column.grid, column.bottom, column.top) == (10, 30, 70)
    assert "99</bdi></span>" in page
    assert "70 and more" in page
    at = re.search(rf'max="(\d+)" value="(\d+)" id="slide-top-{age}"', visitor.page("shown"))
    assert at is not None
    visitor.send("shown/slide", column=age, which="top", position=at[2])
    assert column_of(visitor, "age").top == 70
    visitor.send("shown/slide", column=age, which="top", position=at[1])
    assert column_of(visitor, "age").top is None
    page = visitor.send("shown/scale", column=age, grid="10", bottom="70", top="30")
    assert 'class="told bad"' in page
    assert column_of(visitor, "age").bottom == 30


def test_means_are_chosen_and_left_with_the_type(visitor: Inside) -> None:
    age = place("age")
    visitor.send("roles/set", column=age, role="quasi")
    assert 'id="objective"' not in visitor.page("make")
    page = visitor.send("shown/scale", column=age, grid="5", render="mean")
    assert column_of(visitor, "age").render == "mean"
    assert '<option value="mean" selected>' in page
    assert 'Undo<span class="what">: <bdi>age</bdi>' in page
    visitor.send("price/k", k="5")
    assert 'id="objective"' in visitor.page("make")
    visitor.send("shown/set", column=age, type="categorical")
    assert column_of(visitor, "age").render is None


def test_a_large_number_is_shown_as_it_was_typed(visitor: Inside) -> None:
    sent = {"grid": "0.25", "bottom": "-1234567.75", "top": "12345678.5", "least": "", "most": ""}
    page = visitor.send("shown/scale", column=place("age"), **sent)
    for text in ("0.25", "-1234567.75", "12345678.5"):
        assert f'value="{text}"' in page


def test_one_undo_takes_a_slide_back(visitor: Inside) -> None:
    before = schema_of(visitor)
    for position in (1, 2, 3):
        visitor.send("shown/slide", column=place("age"), which="bottom", position=position)
    assert column_of(visitor, "age").bottom != before.columns["age"].bottom
    visitor.send("open/undo", step="shown")
    assert schema_of(visitor) == before


def boxes(page: str, label: str) -> str:
    found = re.search(rf'value="(\d+)"><span><bdi>{label}<', page)
    assert found is not None
    return found[1]


def test_a_tree_is_changed_by_hand_and_goes_through_a_file(visitor: Inside) -> None:
    town = place("town <b>")
    visitor.send("roles/set", column=town, role="quasi")
    page = visitor.page("shown")
    part = page[page.index(f'id="tree-{town}"') - 200 :]
    of = re.search(r'name="of" value="(\d+)"', part)
    assert of is not None
    two = [boxes(part, "Bonn"), boxes(part, "Köln")]
    sent = {"column": town, "of": of[1], "do": "group", "value": two, "label": "Germany"}
    visitor.send("shown/tree", **sent)
    expected = {("Bonn", "Germany", "*"), ("Köln", "Germany", "*"), ("Lyon", "*"), ("Paris", "*")}
    assert outline(column_of(visitor, "town <b>").taxonomy_over([])) == expected
    assert "changed in the meantime" in visitor.send("shown/tree", **sent)
    file = visitor.post("shown/write", {"column": town})
    assert "Bonn;Germany;*" in file.text
    assert file.headers["content-disposition"].startswith("attachment")
    visitor.send("shown/build", column=town, build="flat")
    assert column_of(visitor, "town <b>").taxonomy is None
    sent = {"column": town}
    answer = visitor.post("shown/read", sent, files={"file": ("x.csv", file.content)})
    assert answer.status_code == 200
    assert outline(column_of(visitor, "town <b>").taxonomy_over([])) == expected


def test_other_settings_of_a_column(visitor: Inside) -> None:
    code = place("zip")
    visitor.send("roles/set", column=code, role="quasi")
    visitor.send("shown/set", column=code, missing="wildcard")
    visitor.send("shown/set", column=code, weight="4")
    visitor.send("shown/set", column=code, labels="yes", normalise="on")
    visitor.send("shown/build", column=code, build="prefixes", lengths="yes", length=["3", "1"])
    column = column_of(visitor, "zip")
    assert (column.missing, column.weight) == ("wildcard", 4)
    assert column.normalise
    assert column.taxonomy.lengths == (1, 3)  # type: ignore[union-attr]
    visitor.send("shown/set", column=code, type="numeric")
    assert column_of(visitor, "zip").type == "numeric"
    visitor.send("shown/set", column=code, cells="yes", unreadable="on")
    assert column_of(visitor, "zip").unreadable == "missing"
    visitor.send("shown/propose", column=code)
    assert column_of(visitor, "zip").weight == 1


def test_no_address_names_a_column(visitor: Inside) -> None:
    for step in ("roles", "shown"):
        page = visitor.page(step)
        addresses = re.findall(r'(?:href|src|action)="([^"]*)"', page)
        assert addresses
        for name, address in product(("town", "diagnosis", "admitted"), addresses):
            assert name not in address


def test_pictures_come_later(visitor: Inside) -> None:
    for step in ("roles", "shown"):
        for address in re.findall(r'data-src="([^"]*)"', visitor.page(step))[:2]:
            assert "<svg" in visitor.page(address.replace("&amp;", "&"))


FIELDS = (
    *("role", "knows", "person", "type", "missing", "weight", "which", "position", "grid"),
    *("bottom", "least", "do", "value", "node", "of", "build"),
)
REFUSING = (
    *("roles/set", "roles/knows", "roles/person", "shown/set", "shown/slide", "shown/scale"),
    *("shown/tree", "shown/build", "shown/read"),
)


@pytest.mark.parametrize("action", REFUSING)
@pytest.mark.parametrize("column", ["0", "3", "99999999", "ä"])
def test_odd_requests_change_nothing(visitor: Inside, action: str, column: str) -> None:
    before = schema_of(visitor)
    for odd in ("x", "-3x", "9" * 30, "\0", "²"):
        visitor.send(action, column=column, **dict.fromkeys(FIELDS, odd))
    assert schema_of(visitor) == before


def test_a_column_without_values_has_an_empty_tree(opened: Inside, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,sex\n" + ",f\n" * 30, encoding="utf-8")
    opened.send("open/path", path=tmp_path / "people.csv")
    opened.send("roles/set", column=0, role="quasi")
    assert "tree of values" in opened.page("shown")
