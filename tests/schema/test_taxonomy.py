"""Trees compared with brute force over parent links, and all ways to read, build and write one."""

import csv
import datetime
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from covey.errors import TaxonomyError
from covey.reference import model as oracle
from covey.schema import taxonomy as trees
from covey.schema.taxonomy import DEEPEST, MEASURES, Taxonomy
from covey_experiments.adult import TREES
from examples import examples
from tables_of_people import LABELS, leaves_of, parent_links

# Labels that stand on one line of a file, whatever reads it.
ONE_LINE = tuple(label for label in LABELS if label.isprintable())

links = parent_links()
links_on_one_line = parent_links(alphabet=ONE_LINE)


def tree_of(parent: Mapping[str, str]) -> oracle.Tree:
    (root,) = set(parent.values()) - set(parent)
    return oracle.Tree(root, parent)


def paths_of(parent: Mapping[str, str]) -> dict[str, list[str]]:
    """From each leaf up to the root."""
    return {leaf: oracle.ancestors(tree_of(parent), leaf) for leaf in leaves_of(parent)}


def nested_of(parent: Mapping[str, str], node: str) -> Any:
    """What is under a node: a list where that is leaves alone, else a table."""
    below = [child for child, above in parent.items() if above == node]
    inner = set(parent.values())
    if inner.isdisjoint(below):
        return below
    return {child: nested_of(parent, child) for child in below}


def check_tree(tree: Taxonomy, parent: Mapping[str, str]) -> None:
    """Every number that a taxonomy tells, by brute force over the parent links."""
    slow = tree_of(parent)
    assert set(tree.labels) == {slow.root, *parent}
    assert len(tree.labels) == len(parent) + 1
    assert tree.labels[tree.root] == slow.root
    assert sorted(tree.leaves) == leaves_of(parent)
    assert tree.leaf_count == len(tree.leaves)
    assert tree.parent[tree.root] == -1
    assert tree.height == oracle.max_depth(slow)
    for node, label in enumerate(tree.labels):
        above = oracle.ancestors(slow, label)
        below = oracle.leaves_below(slow, label)
        assert tree.node_of[label] == node
        assert node == tree.root or tree.labels[tree.parent[node]] == parent[label]
        assert tree.depth[node] == len(above) - 1
        assert tree.subheight[node] == oracle.subheight(slow, label)
        assert tree.leaves_below[node] == len(below)
        by_depth = [tree.node_of[a] for a in reversed(above)]
        assert tree.ancestors[node].tolist() == by_depth + [-1] * (tree.height + 1 - len(above))
        numbers = sorted(tree.node_of[leaf] for leaf in below)
        assert numbers == list(range(numbers[0], numbers[0] + len(below)))  # neighbours
    for measure in MEASURES:
        expected = [oracle.node_loss(slow, label, measure) for label in tree.labels]
        assert tree.losses(measure).tolist() == expected
    assert {path[0]: path for path in tree.paths()} == paths_of(parent)
    assert [path[0] for path in tree.paths()] == list(tree.leaves)


# ── against brute force ─────────────────────────────────────────────────────────────────────────


@given(links)
@examples(200)
def test_a_tree_from_parent_links(parent: dict[str, str]) -> None:
    check_tree(trees.build(parent), parent)


@given(links, st.data())
@examples(100)
def test_a_tree_from_paths_some_leaves_said_twice(
    parent: dict[str, str], data: st.DataObject
) -> None:
    paths = data.draw(st.permutations(list(paths_of(parent).values())))
    stutter = [[path[0]] * data.draw(st.integers(1, 3)) + path[1:] for path in paths]
    check_tree(trees.from_paths(stutter), parent)


@given(links)
@examples(100)
def test_a_tree_from_nested_tables(parent: dict[str, str]) -> None:
    root = tree_of(parent).root
    check_tree(trees.from_nested({root: nested_of(parent, root)}), parent)


@given(links)
@examples(100)
def test_several_labels_at_the_top_get_a_root(parent: dict[str, str]) -> None:
    root = tree_of(parent).root
    top = nested_of(parent, root)
    assume(isinstance(top, dict) and len(top) > 1 and "*" not in parent)
    check_tree(
        trees.from_nested(top),
        {child: "*" if above == root else above for child, above in parent.items()},
    )


@given(links, st.data())
@examples(100)
def test_lowest_common_ancestors(parent: dict[str, str], data: st.DataObject) -> None:
    tree = trees.build(parent)
    nodes = data.draw(st.lists(st.integers(0, tree.root), min_size=1, max_size=5))
    expected = oracle.lowest_common_ancestor(tree_of(parent), [tree.labels[n] for n in nodes])
    assert tree.labels[tree.lowest_common_ancestor(nodes)] == expected
    assert tree.lowest_common_ancestor(iter(nodes)) == tree.lowest_common_ancestor(nodes[::-1])


@given(links)
@examples(100)
def test_one_more_leaf_under_the_root(parent: dict[str, str]) -> None:
    tree = trees.build(parent)
    more = tree.with_leaf("")
    check_tree(more, {**parent, "": tree.labels[tree.root]})
    assert more.leaves == (*tree.leaves, "")
    check_tree(tree, parent)


@given(st.lists(st.sampled_from(LABELS), min_size=1))
@examples(100)
def test_a_flat_tree_has_a_root_that_is_no_value(values: list[str]) -> None:
    tree = trees.flat(values)
    root = "***" if {"*", "**"} <= set(values) else "**" if "*" in values else "*"
    check_tree(tree, dict.fromkeys(values, root))
    assert list(tree.leaves) == sorted(set(values))


def test_a_flat_tree_of_nothing_is_its_root() -> None:
    tree = trees.flat([])
    assert (tree.labels, tree.leaf_count) == (("*",), 0)
    check_tree(tree.with_leaf("only"), {"only": "*"})


@pytest.mark.parametrize("measure", MEASURES)
def test_a_tree_of_one_leaf_loses_nothing(measure: trees.Measure) -> None:
    assert trees.build({"x": "mid", "mid": "top"}).losses(measure)[0] == 0


# Byun Fig. 3; Egypt under Asia and Mexico under South America stand in the paper.
COUNTRIES = {
    "World": {
        "America": {"North": ["USA", "Canada"], "South": ["Brazil", "Mexico"]},
        "Asia": {"West": ["Iran", "Egypt"], "East": ["India", "Japan"]},
    }
}


@pytest.mark.parametrize("measure", ["height", "level"])
@pytest.mark.parametrize(
    ("other", "loss"), [("USA", 1.0), ("Iran", 2 / 3), ("Japan", 1 / 3), ("India", 0.0)]
)
def test_byun_example_1(measure: trees.Measure, other: str, loss: float) -> None:
    tree = trees.from_nested(COUNTRIES)
    common = tree.lowest_common_ancestor([tree.node_of["India"], tree.node_of[other]])
    assert tree.losses(measure)[common] == loss


def test_wang_figure_1_is_unbalanced() -> None:
    tree = trees.from_paths(
        line.split(";")
        for line in (
            "Private;Private;*",
            "inc;Self-emp;*",
            "not-inc;Self-emp;*",
            "Federal;Gov;*",
            "Local;Gov;*",
            "State;Gov;*",
            "Without-pay;Without-pay;*",
        )
    )
    gov, private = tree.node_of["Gov"], tree.node_of["Private"]
    assert tree.depth[private] == 1
    assert private < tree.leaf_count
    assert tree.losses("ncp")[gov] == 3 / 7
    assert tree.losses("lm")[gov] == 2 / 6
    assert tree.losses("height")[gov] == tree.losses("level")[gov] == 1 / 2


# ── files ───────────────────────────────────────────────────────────────────────────────────────


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "tree.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read(folder: Path, text: str | bytes) -> list[list[str]]:
    return list(trees.read_arx(written(folder, text)).paths())


@given(links_on_one_line)
@examples(100)
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, parent: dict[str, str]
) -> None:
    path = tmp_path_factory.getbasetemp() / "again.csv"
    tree = trees.build(parent)
    tree.write_arx(path)
    check_tree(trees.read_arx(path), parent)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter=";"))
    assert {len(row) for row in rows} == {tree.height + 1}
    for row, expected in zip(rows, tree.paths(), strict=True):
        assert row == expected[:1] * (tree.height + 1 - len(expected)) + expected


text_labels = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from('\r\n\x85\u2028\x1c;,"')),
    min_size=1,
)


@given(st.lists(text_labels, min_size=2, max_size=6, unique=True))
@examples(200)
def test_any_label_survives_a_file(
    tmp_path_factory: pytest.TempPathFactory, labels: list[str]
) -> None:
    """Also signs that some call the end of a line: returns, U+0085, U+2028."""
    path = tmp_path_factory.getbasetemp() / "text.csv"
    parent = dict.fromkeys(labels[1:], labels[0])
    trees.build(parent).write_arx(path)
    check_tree(trees.read_arx(path), parent)


def test_an_arx_file(tmp_path: Path) -> None:
    assert read(tmp_path, "a;low;*\nb;low;*\nc;high;*\n") == [
        ["a", "low", "*"],
        ["b", "low", "*"],
        ["c", "high", "*"],
    ]


@pytest.mark.parametrize(
    "text",
    [
        "a,low,*\nb,b,*\n",
        "a;low;*\r\nb;b;*\r\n",
        "\ufeffa;low;*\nb;b;*",
        "a;low;*\n\nb;b;*\n\n",
        "a;low;*\nb;*\n",
        '"a";low;*\nb;"b";*\n',
        "\na;low;*\nb;*\n",
    ],
    ids=["commas", "crlf", "bom", "blank lines", "ragged", "quotes", "blank line first"],
)
def test_files_that_say_the_same(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == [["a", "low", "*"], ["b", "*"]]


def test_the_other_delimiter_is_part_of_a_label(tmp_path: Path) -> None:
    assert read(tmp_path, "a,b;*\nc;*\n") == [["a,b", "*"], ["c", "*"]]
    assert read(tmp_path, "a,*\nc;d,*\n") == [["a", "*"], ["c;d", "*"]]
    assert read(tmp_path, '"a;b",*\nc,*\n') == [["a;b", "*"], ["c", "*"]]


def test_spaces_belong_to_labels(tmp_path: Path) -> None:
    assert read(tmp_path, " a; x ;*\na;y;*\n") == [[" a", " x ", "*"], ["a", "y", "*"]]


def hierarchies(whose: str, folder: Path, request: pytest.FixtureRequest) -> list[Path]:
    """Files in ARX's format: of the experiments' trees, or those that come with ARX itself."""
    if whose == "arx":
        folder = request.getfixturevalue("shared_data") / "adult" / "hierarchies"
    else:
        for name, tree in TREES.items():
            paths = [*trees.from_nested(tree).paths()]
            longest = max(map(len, paths))
            padded = [[path[0]] * (longest - len(path)) + path for path in paths]
            lines = "".join(";".join(path) + "\n" for path in padded)
            (folder / f"{name}.csv").write_text(lines, encoding="utf-8")
    return sorted(folder.glob("*.csv"))


@pytest.mark.parametrize(("whose", "number"), [("experiments", 7), ("arx", 9)])
def test_the_adult_hierarchies(
    whose: str, number: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    files = hierarchies(whose, tmp_path, request)
    assert len(files) == number
    for path in files:
        lines = [line.split(";") for line in path.read_text(encoding="utf-8").splitlines() if line]
        tree = trees.read_arx(path)
        assert tree.leaf_count == len(lines)
        for line in lines:
            above = list(dict.fromkeys(line))
            leaf = tree.node_of[line[0]]
            assert [tree.labels[n] for n in tree.ancestors[leaf] if n >= 0] == above[::-1]


# ── refusals: numbers, never labels ─────────────────────────────────────────────────────────────


def refusal(attempt: Callable[[], object], *secrets: str) -> str:
    with pytest.raises(TaxonomyError) as caught:
        attempt()
    message = str(caught.value)
    for secret in ("Ann", "Bob", "Eve", "Oslo", *secrets):
        assert secret not in message
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Ann;Oslo;*\nBob;Oslo;*\nAnn;Oslo;*\n", "1 leaf with more than one line"),
        ("Ann;*\nBob;*\nAnn;*\nBob;*\nAnn;*\n", "2 leaves with more than one line"),
        ("Ann;Oslo;*\nBob;Eve;*\nEve;Oslo;*\n", "1 label with two parents"),
        ("Ann;Oslo;Bob;*\nEve;Oslo;*\n", "1 label with two parents"),
        ("Ann;Oslo;Bob;Oslo\n", "1 label with two parents|cycle"),
        ("Ann;Oslo\nBob;Eve\n", "2 roots"),
        ("Ann;Oslo;*\nOslo;*\n", "1 leaf with other values under it"),
        ("Ann;Oslo;*\nOslo;Oslo;*\n", "1 leaf with other values under it"),
        ("Ann;Oslo;*\n*;Oslo;*\n", "1 leaf with other values under it"),
        ("Ann;;*\nBob;Oslo;*\n", "1 line with an empty label"),
        (";Oslo;*\nBob;Oslo;\n", "2 lines with an empty label"),
        ("Ann;Oslo;*;\nBob;Oslo;*;\n", "2 lines with an empty label"),
        ("Ann\nBob\n", "2 lines without a root"),
        ("Ann;*\nBob\n", "1 line without a root"),
        ("Ann;Ann;Ann\n", "1 line without a root"),
        ("", "empty"),
        ("\n\n", "empty"),
        ('"Ann;*\n', "CSV"),
        ('"Ann"Bob;*\n', "CSV"),
        (b"Ann\xff;*\n", "UTF-8"),
    ],
)
def test_files_that_are_no_trees(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = written(tmp_path, text)
    assert re.search(message, refusal(lambda: trees.read_arx(path)))


def test_all_mistakes_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, "Ann;;*\nBob;Oslo;*\nBob;Eve;*\nOslo;*\n")
    message = refusal(lambda: trees.read_arx(path))
    assert "1 line with an empty label" in message
    assert "1 leaf with more than one line" in message
    assert "1 leaf with other values under it" in message
    assert "with two parents" in message


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert "No such file" in refusal(lambda: trees.read_arx(tmp_path / "Oslo.csv"))
    assert "cannot be read" in refusal(lambda: trees.read_arx(tmp_path))
    assert "cannot be read" in refusal(lambda: trees.read_arx("\0"))


@given(links, st.data())
@examples(100)
def test_cycles(parent: dict[str, str], data: st.DataObject) -> None:
    """A loop beside the tree, of some labels that lead to each other and others below them."""
    loop = data.draw(st.lists(st.integers(0, 99).map("loop{}".format), min_size=1, unique=True))
    around = dict(zip(loop, [*loop[1:], loop[0]], strict=True))
    message = refusal(lambda: trees.build({**parent, **around, "Eve": loop[0]}), *loop)
    assert f"{len(loop) + 1} labels in a cycle" in message
    assert "cycle" in refusal(lambda: trees.build(around), *loop)


@given(st.integers(2, 9))
def test_several_roots(number: int) -> None:
    parent = {f"Ann{i}": f"Oslo{i}" for i in range(number)}
    assert f"{number} roots" in refusal(lambda: trees.build(parent))


def test_nothing_is_no_tree() -> None:
    assert "empty" in refusal(lambda: trees.build({}))
    assert "empty" in refusal(lambda: trees.from_paths([]))


def test_an_empty_line_is_no_path() -> None:
    """`read_arx` leaves such lines out, but callers hand over lines of their own."""
    assert "1 line" in refusal(lambda: trees.from_paths([["Ann", "*"], []]))


@pytest.mark.parametrize(
    "tree",
    [
        {"Oslo": "Ann"},
        {"Oslo": {"Ann": 5}},
        {"Oslo": ["Ann", ["Bob"]]},
        {"Oslo": ["Ann", {"Bob": ["Eve"]}]},
        {},
        {"Oslo": ["Ann", "Ann"]},
        {"Oslo": {"Ann": ["Eve"], "Bob": ["Eve"]}},
        {"Oslo": {"": ["Ann"]}},
        {"Oslo": ["Ann", ""]},
    ],
)
def test_nested_tables_that_are_no_trees(tree: dict[str, Any]) -> None:
    refusal(lambda: trees.from_nested(tree))


def test_nested_tables_take_numbers_and_values_at_any_depth() -> None:
    tree = trees.from_nested({"all": {"few": [1, 2], "3": [], "4": None, "more": {"5": {}}}})
    assert list(tree.paths()) == [
        ["1", "few", "all"],
        ["2", "few", "all"],
        ["3", "all"],
        ["4", "all"],
        ["5", "more", "all"],
    ]
    assert list(trees.from_nested({"only": []}).paths()) == [["only", "*"]]
    # A label right under itself is one node, as in a file.
    assert list(trees.from_nested({"all": {"x": ["x"], "y": ["z"]}}).paths()) == [
        ["x", "all"],
        ["z", "y", "all"],
    ]


def chain(length: int) -> list[str]:
    return [f"Ann{place}" for place in range(length)]


def nested_chain(length: int) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for label in chain(length):
        tree = {label: tree}
    return tree


def test_a_tree_may_be_deep_but_not_bottomless() -> None:
    assert trees.from_nested(nested_chain(DEEPEST)).height == DEEPEST - 1
    assert str(DEEPEST) in refusal(lambda: trees.from_nested(nested_chain(DEEPEST + 1)))
    assert trees.from_paths([chain(DEEPEST)]).height == DEEPEST - 1


def test_a_file_is_no_way_around_the_deepest_tree(tmp_path: Path) -> None:
    """A line of n labels makes a table of n² ancestors: 100 kB would take 40 GB."""
    path = written(tmp_path, ";".join(chain(DEEPEST + 1)))
    assert str(DEEPEST) in refusal(lambda: trees.read_arx(path))


# ── builders ────────────────────────────────────────────────────────────────────────────────────


def interval_of(label: str) -> tuple[Fraction, Fraction]:
    """Where an interval begins and where the next one does."""
    whole = re.fullmatch(r"\[(-?\d+), (-?\d+)\]", label)
    if whole:
        return Fraction(whole[1]), Fraction(whole[2]) + 1
    half_open = re.fullmatch(r"\[(-?[\d.]+), (-?[\d.]+)\)", label)
    assert half_open, label
    return Fraction(half_open[1]), Fraction(half_open[2])


def check_intervals(
    values: Sequence[str], widths: Sequence[float], origin: float, *, whole: bool
) -> None:
    """Each value lies in each interval above it, which has its width and lies on its grid."""
    tree = trees.intervals(values, widths, origin)
    assert set(tree.leaves) == set(values)
    assert list(tree.leaves) == sorted(set(values), key=Decimal)
    for leaf, *labels, root in tree.paths():
        assert root == "*"
        assert len(labels) == len(widths)
        for label, width in zip(labels, widths, strict=True):
            low, after = interval_of(label)
            assert label.endswith("]") is whole
            assert low <= Fraction(leaf) < after
            assert after - low == Fraction(str(width))
            assert ((low - Fraction(str(origin))) / Fraction(str(width))).denominator == 1


def widths_of(data: st.DataObject, first: Fraction) -> list[float]:
    widths = [first]
    for factor in data.draw(st.lists(st.integers(2, 5), max_size=2)):
        widths.append(widths[-1] * factor)
    return [float(width) for width in widths]


@given(st.lists(st.integers(-1000, 1000), min_size=1), st.integers(-7, 7), st.data())
@examples(100)
def test_intervals_of_whole_numbers(values: list[int], origin: int, data: st.DataObject) -> None:
    widths = widths_of(data, Fraction(data.draw(st.integers(1, 12))))
    check_intervals([str(value) for value in values], widths, origin, whole=True)


@given(st.lists(st.integers(-400, 400), min_size=1), st.data())
@examples(100)
def test_intervals_of_decimals(values: list[int], data: st.DataObject) -> None:
    """0.3 is in [0.3, 0.4), though 0.3 / 0.1 is a little less than 3 to a computer."""
    widths = widths_of(data, Fraction(data.draw(st.sampled_from([1, 2, 3, 7, 25])), 10))
    assume(any(not width.is_integer() for width in widths))
    check_intervals([str(value / 10) for value in values], widths, 0, whole=False)


@given(st.lists(st.integers(-50, 50), min_size=1), st.sampled_from([0.5, -0.5, 2.25]))
@examples(50)
def test_intervals_of_whole_numbers_from_an_origin_between_them(
    values: list[int], origin: float
) -> None:
    check_intervals([str(value) for value in values], [5, 10], origin, whole=False)


def test_intervals_of_numbers_written_in_several_ways() -> None:
    """Equal numbers are told apart by their text, not by the order in which a set holds them."""
    sevens = ["7", "07", "7.0", "+7", "7e0", "70e-1", "0.7e1", "007"]
    tree = trees.intervals([*sevens, "-3"], [5])
    assert next(tree.paths()) == ["-3", "[-5, -1]", "*"]
    assert list(tree.leaves[1:]) == sorted(sevens)
    assert {tuple(path[1:]) for path in list(tree.paths())[1:]} == {("[5, 9]", "*")}


@pytest.mark.parametrize(
    "widths",
    [[5, 12], [10, 5], [5, 5], [0, 5], [-5, 10], [0], [-5], [float("inf")], [float("nan")]],
)
def test_intervals_that_do_not_nest_are_refused(widths: list[float]) -> None:
    assert "widths" in refusal(lambda: trees.intervals(["1", "7"], widths))


@pytest.mark.parametrize("value", ["Ann", "", "nan", "inf", "1e999", "[1, 2]", "1_000", "１２"])
def test_intervals_of_other_than_numbers_are_refused(value: str) -> None:
    assert "numbers" in refusal(lambda: trees.intervals(["1", value], [5]), "999")


def test_a_number_is_no_bomb() -> None:
    """Written out, this one has a billion digits."""
    script = (
        "from covey.schema.taxonomy import intervals; "
        "print(intervals(['1e-999999999'], [5]).height)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.stdout == "2\n" or "TaxonomyError" in done.stderr


codes = st.text("0123456789AB", min_size=5, max_size=5)


@given(st.lists(codes, min_size=1))
@examples(100)
def test_prefixes_lose_a_sign_at_a_time(values: list[str]) -> None:
    tree = trees.prefixes(values)
    assert list(tree.leaves) == sorted(set(values))
    for path in tree.paths():
        code = path[0]
        assert path[1:] == [code[:length] + "*" * (5 - length) for length in (4, 3, 2, 1)] + ["*"]


@given(st.lists(codes, min_size=1), st.sets(st.integers(1, 9), min_size=1))
@examples(50)
def test_prefixes_of_chosen_lengths(values: list[str], lengths: set[int]) -> None:
    kept = sorted((length for length in lengths if length < 5), reverse=True)
    for path in trees.prefixes(values, [*lengths]).paths():
        assert path[1:-1] == [path[0][:length] + "*" * (5 - length) for length in kept]


@given(st.lists(st.text("12", min_size=1, max_size=4), min_size=1))
@examples(100)
def test_prefixes_of_codes_of_different_length(values: list[str]) -> None:
    """Every label above a code begins with what is left of it, and differs by stars alone."""
    tree = trees.prefixes(values)
    assert set(tree.leaves) == set(values)
    for path in tree.paths():
        for label in path[1:]:
            assert path[0].startswith(label.rstrip("*"))


def test_prefixes_of_a_table_released_before() -> None:
    assert list(trees.prefixes(["*", "12"]).paths()) == [["*", "**"], ["12", "1*", "**"]]
    refusal(lambda: trees.prefixes(["47803", "4780*"]), "478")


@given(st.lists(st.dates(datetime.date(1000, 1, 1)), min_size=1))
@examples(100)
def test_days_in_months_in_quarters_in_years(values: list[datetime.date]) -> None:
    tree = trees.dates([value.isoformat() for value in values])
    assert list(tree.leaves) == sorted({value.isoformat() for value in values})
    for day, month, quarter, year, root in tree.paths():
        assert (month, year, root) == (day[:7], day[:4], "*")
        first_month = {"1": "01", "2": "04", "3": "07", "4": "10"}[quarter[-1]]
        assert quarter[:-1] == f"{year}-Q"
        assert 0 <= int(day[5:7]) - int(first_month) <= 2


@pytest.mark.parametrize(
    "value",
    [
        *("2024-02-30", "31.05.2024", "2024-05", "", "Ann", "2024-05-31 "),
        *("20240531", "2024-W22-5", "２０２４-05-31"),
    ],
)
def test_other_than_days_are_refused(value: str) -> None:
    assert "2024-05-31" in refusal(lambda: trees.dates(["2024-05-30", value]), "02-30", "31.05")


def test_builders_of_nothing() -> None:
    for nothing in (trees.prefixes, trees.dates, lambda values: trees.intervals(values, [5])):
        assert "empty" in refusal(lambda: nothing([]))  # noqa: B023


@given(links)
@examples(20)
def test_a_taxonomy_keeps_small_arrays(parent: dict[str, str]) -> None:
    tree = trees.build(parent)
    arrays = (tree.parent, tree.depth, tree.subheight, tree.leaves_below, tree.ancestors)
    assert {array.dtype for array in arrays} == {np.dtype(np.int32)}
    assert {array.dtype for array in (tree.with_leaf("").parent,)} == {np.dtype(np.int32)}
