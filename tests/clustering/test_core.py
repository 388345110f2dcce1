"""The border between Python and the compiled kernels."""

import ast
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import builds
from covey import demo
from covey._core import kernels, sources
from covey._core.arrays import RuleKind
from covey.encoding import EncodedTable, encode
from covey.schema import Schema
from covey.tables import Table

# ── the sources of the build ────────────────────────────────────────────────────────────────────


def test_the_kernels_are_built_from_the_sources_of_this_checkout() -> None:
    assert sources.digest(builds.CHECKOUT) == kernels.SOURCES


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources of the kernels, elsewhere."""
    core = Path("src", "covey", "_core")
    shutil.copytree(builds.CHECKOUT / core, tmp_path / core)
    shutil.copy(builds.CHECKOUT / "CMakeLists.txt", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "name", ["CMakeLists.txt", "src/covey/_core/cb.cpp", "src/covey/_core/core.hpp"]
)
def test_an_edited_source_has_another_digest(copy: Path, name: str) -> None:
    assert sources.digest(copy) == kernels.SOURCES
    content = (copy / name).read_text()
    (copy / name).write_text(content + " ")
    assert sources.digest(copy) != kernels.SOURCES
    (copy / name).write_text(content)
    assert sources.digest(copy) == kernels.SOURCES


def test_another_set_of_sources_has_another_digest(copy: Path) -> None:
    core = copy / "src" / "covey" / "_core"
    (core / "new.cpp").write_text("")
    more = sources.digest(copy)
    (core / "new.cpp").rename(core / "other.cpp")
    assert len({more, sources.digest(copy), kernels.SOURCES}) == 3


def test_tests_refuse_a_stale_build(monkeypatch: pytest.MonkeyPatch) -> None:
    builds.refuse_stale()
    monkeypatch.setattr(kernels, "SOURCES", "those of yesterday")
    with pytest.raises(pytest.UsageError, match="make install"):
        builds.refuse_stale()


# ── the stub ────────────────────────────────────────────────────────────────────────────────────

STUB = builds.CHECKOUT / "src" / "covey" / "_core" / "kernels.pyi"


def parameters(function: ast.FunctionDef) -> list[tuple[str, bool]]:
    """The name of each parameter, and whether it has a default."""
    arguments = function.args
    assert not any((arguments.posonlyargs, arguments.kwonlyargs, arguments.vararg, arguments.kwarg))
    without = len(arguments.args) - len(arguments.defaults)
    return [(one.arg, place >= without) for place, one in enumerate(arguments.args)]


def parameters_of_compiled(function: Any) -> list[tuple[str, bool]]:
    """The same of a function of the module, by the signature that its build has written."""
    ((written, *_),) = function.__nb_signature__
    # It is no Python: it has other types, and only the numbers of the defaults.
    parts = _split(written[written.index("(") + 1 :])
    return [(part.partition(":")[0].strip(), "= \\" in part) for part in parts]


def _split(text: str) -> list[str]:
    """The parameters up to the bracket that closes them."""
    parts, depth = [""], 0
    for sign in text:
        if sign == ")" and depth == 0:
            break
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part for part in parts if part.strip()]


def in_the_stub() -> dict[str, Any]:
    """What the stub describes: functions and methods by their parameters."""
    found: dict[str, Any] = {}
    for item in ast.parse(STUB.read_text(encoding="utf-8")).body:
        match item:
            case ast.AnnAssign(target=ast.Name(id=name)):
                found[name] = "attribute"
            case ast.FunctionDef(name=name):
                found[name] = parameters(item)
            case ast.ClassDef(name=name):
                found[name] = "class"
                for one in item.body:
                    if isinstance(one, ast.FunctionDef):
                        is_property = [ast.unparse(d) for d in one.decorator_list] == ["property"]
                        found[f"{name}.{one.name}"] = "property" if is_property else parameters(one)
    return found


def in_the_module() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, item in vars(kernels).items():
        if name.startswith("__"):
            continue
        if not isinstance(item, type):
            found[name] = "attribute" if isinstance(item, str) else parameters_of_compiled(item)
            continue
        found[name] = "class"
        for inner, one in vars(item).items():
            if isinstance(one, property):
                found[f"{name}.{inner}"] = "property"
            elif hasattr(one, "__nb_signature__") and inner != "__new__":
                found[f"{name}.{inner}"] = parameters_of_compiled(one)
    return found


def test_the_stub_describes_the_module() -> None:
    assert in_the_stub() == in_the_module()
    assert in_the_module()["Table.__init__"][-1] == ("sample", True)
    assert in_the_module()["mdav"][0] == ("table", False)


# ── wrong arrays ────────────────────────────────────────────────────────────────────────────────

ROWS = 30
Change = Callable[[Any], Any]


@pytest.fixture(scope="module")
def table() -> EncodedTable:
    return encode(Table(demo.people(ROWS)), demo.schema())


def copied(table: EncodedTable) -> dict[str, Any]:
    """Copies of the arrays of a table, by name."""
    arrays = {**table.cells._asdict(), **table.forest._asdict()}
    return {name: array.copy() for name, array in arrays.items()}


def replaced(index: Any, value: float) -> Change:
    """An array of the right kind with a wrong element."""

    def change(array: Any) -> Any:
        wrong = array.copy()
        wrong[index] = value
        return wrong

    return change


def as_type(kind: str) -> Change:
    return lambda array: array.astype(kind)


def shortened(array: Any) -> Any:
    return array[:-1].copy()


def widened(array: Any) -> Any:
    return np.concatenate([array, array[..., :1]], axis=-1)


def not_contiguous(array: Any) -> Any:
    return np.repeat(array, 2, axis=-1)[..., ::2]


KINDS = [
    ("numbers", as_type("float32")),
    ("numbers", as_type("int64")),
    ("numbers", not_contiguous),
    ("numbers", lambda array: array[0]),
    ("numbers", lambda array: array.tolist()),
    ("numbers", lambda _: None),
    ("codes", as_type("int64")),
    ("codes", not_contiguous),
    ("codes", lambda array: np.asfortranarray(array)),
    ("weights", as_type("float32")),
    ("ancestors", as_type("uint32")),
]
SHAPES = [
    *((name, shortened) for name in ("numbers", "weights", "codes", "ancestors", "depth", "loss")),
    *((name, shortened) for name in ("begin", "end", "first", "leaves")),
    *((name, widened) for name in ("numbers", "weights", "codes")),
]
FIGURES = [
    ("numbers", replaced((0, 0), np.nan)),
    ("numbers", replaced((0, 0), np.inf)),
    ("codes", replaced((-1, -1), -1)),
    ("codes", replaced((-1, -1), 10**6)),
    ("codes", replaced((0, 1), 0)),  # of another tree
    ("first", replaced(0, -1)),
    ("leaves", replaced(-1, 10**6)),
    ("depth", replaced(0, 99)),
    ("ancestors", replaced((0, 0), 10**6)),
    ("ancestors", replaced((0, 0), -2)),
    ("begin", replaced(0, -1)),
    ("end", replaced(0, 10**6)),
]


@pytest.mark.parametrize(("name", "change"), [*KINDS, *SHAPES, *FIGURES])
def test_a_table_of_wrong_arrays_is_refused(table: EncodedTable, name: str, change: Change) -> None:
    arrays = copied(table)
    kernels.Table(**arrays)
    with pytest.raises(TypeError if (name, change) in KINDS else ValueError):
        kernels.Table(**{**arrays, name: change(arrays[name])})


@pytest.mark.parametrize("shape", [{"leaf_rows": 0}, {"bits": 0}, {"bits": 65}, {"sample": 1}])
def test_a_table_of_impossible_boxes_is_refused(table: EncodedTable, shape: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        kernels.Table(**copied(table), **shape)


def test_arrays_that_cannot_be_written_are_accepted(table: EncodedTable) -> None:
    arrays = copied(table)
    for array in arrays.values():
        array.setflags(write=False)
    order, ends = kernels.tile(kernels.Table(**arrays), np.arange(ROWS, dtype=np.int32), 8)
    assert sorted(order.tolist()) == list(range(ROWS))
    assert ends[-1] == ROWS


def test_what_a_kernel_needs_lives_as_long_as_it() -> None:
    """Kernels read arrays in place. If nobody kept them, the new ones would take their place."""
    rows = 5_000
    encoded = encode(Table(demo.people(rows)), demo.schema())
    costs = []
    for _ in range(2):
        space = kernels.Space(kernels.Table(**copied(encoded)))
        waste = [np.full(rows * width, 7.0) for width in range(1, 9)]
        block = kernels.Block(space, None, np.arange(rows), 5, 0.0, np.inf)
        del space
        waste += [np.full(rows * width, 7.0) for width in range(1, 9)]
        block.grow(np.random.default_rng(1), kernels.Watch())
        costs.append(block.cost)
    whole = kernels.Block(kernels.Space(encoded.core), None, np.arange(rows), 5, 0.0, np.inf)
    whole.grow(np.random.default_rng(1), kernels.Watch())
    assert costs == [whole.cost] * 2


@pytest.fixture(scope="module")
def calls(table: EncodedTable) -> dict[str, dict[str, Any]]:
    """A right call of each kernel, by name."""
    core, forest, rows, k = table.core, table.forest, table.rows, 3
    intervals, trees = table.cells.numbers.shape[1], table.cells.codes.shape[1]
    levels, nodes = forest.ancestors.shape[1], len(forest.depth)
    pairs = np.ones((nodes, levels, levels))
    none = np.empty(0, dtype=np.int32)
    watch = {"table": core, "k": k, "watch": kernels.Watch()}
    random = {**watch, "random": np.random.default_rng(1)}
    missing = np.zeros(intervals)
    places = np.zeros((rows, intervals + trees), dtype=np.int32)
    values, rank = np.arange(rows, dtype=np.int32), np.arange(rows)
    priced = {
        "space": kernels.Space(core), "k": k, "rows": np.arange(rows),
        "counts": np.ones(rows, dtype=np.int64), "prices": np.ones(rows), "floor": 0.0,
        "work": 1_000,
    }  # fmt: skip
    return {
        "tile": {"table": core, "rows": np.arange(rows, dtype=np.int32), "most": 4},
        "k_member": {
            **watch, "rule": 0, "start": 0, "picks": np.zeros(rows // k),
            "order": np.arange(rows % k), "classes": none, "penalty": 0.0,
            "penalise_leftovers": False,
        },
        "systematic": {**watch, "seeds": np.arange(rows // k)},
        "gaa_cp": {**watch, "picks": np.zeros(rows // k)},
        "kaca": {
            **random, "classes": np.arange(rows), "climb": np.ones((trees, levels, levels))
        },
        "mdav": {**watch, "caps": np.ones(intervals), "missing": missing},
        "oka": {**random, "missing": missing},
        "wf_c_means": {
            **random, "iterations": 2, "missing": missing,
            "weights": np.ones(intervals + trees), "losses": forest.loss,
        },
        "kacpc": {
            **watch, "pairs": pairs, "numbers": table.cells.numbers[0].copy(),
            "codes": table.cells.codes[0].copy(),
        },
        "ikac": {**watch, "pairs": pairs, "start": 0},
        "mondrian": {
            **watch, "places": places, "weights": np.ones(intervals + trees), "relaxed": False
        },
        "cb": {
            **random, "missing": 2.0, "tries": 1, "restarts": 1, "l": 2, "values": values,
            "rank": rank,
        },
        "nh": random,
        "overpriced": priced,
        "groups_above": {**priced, "most": 10},
    }  # fmt: skip


def functions() -> list[str]:
    return [
        name for name, what in in_the_stub().items() if isinstance(what, list) and "." not in name
    ]


@pytest.mark.parametrize("name", functions())
def test_a_kernel_takes_exactly_the_arrays_that_it_describes(
    calls: dict[str, dict[str, Any]], name: str
) -> None:
    """Each array is refused in another type, as a slice with steps, shorter, or left out."""
    right, kernel = calls[name], getattr(kernels, name)
    kernel(**right)
    for argument, value in right.items():
        with pytest.raises(TypeError):
            kernel(**{**right, argument: "no such thing" if argument != "random" else None})
        if not isinstance(value, np.ndarray):
            continue
        other = "float32" if value.dtype.kind == "f" else "int16"
        with pytest.raises(TypeError, match="incompatible function arguments"):
            kernel(**{**right, argument: value.astype(other)})
        with pytest.raises(TypeError, match="incompatible function arguments"):
            kernel(
                **{**right, argument: np.repeat(value, 2, axis=-1)[..., ::2]} if value.size else {}
            )
        if name != "tile" and value.size:
            with pytest.raises(ValueError):
                kernel(**{**right, argument: shortened(value)})


@pytest.mark.parametrize("k", [-1, 0, ROWS + 1])
@pytest.mark.parametrize("name", [name for name in functions() if name != "tile"])
def test_a_kernel_refuses_an_impossible_k(
    calls: dict[str, dict[str, Any]], name: str, k: int
) -> None:
    with pytest.raises(ValueError):
        getattr(kernels, name)(**{**calls[name], "k": k})


@pytest.mark.parametrize(
    ("name", "argument", "wrong"),
    [
        ("tile", "rows", np.array([0, ROWS], dtype=np.int32)),
        ("tile", "rows", np.array([-1], dtype=np.int32)),
        ("tile", "most", 0),
        ("k_member", "start", ROWS),
        ("k_member", "start", -1),
        ("k_member", "rule", 4),
        ("k_member", "picks", np.ones(ROWS // 3)),
        ("k_member", "picks", np.full(ROWS // 3, np.nan)),
        ("k_member", "classes", np.zeros(ROWS - 1, dtype=np.int32)),
        ("k_member", "classes", np.full(ROWS, -1, dtype=np.int32)),
        ("systematic", "seeds", np.full(ROWS // 3, ROWS)),
        ("gaa_cp", "picks", np.full(ROWS // 3, -0.5)),
        ("kaca", "classes", np.full(ROWS, -1)),
        ("kacpc", "codes", np.zeros(3, dtype=np.int32)),
        ("ikac", "start", ROWS),
        ("mondrian", "places", np.full((ROWS, 5), 10**6, dtype=np.int32)),
        ("cb", "values", np.full(ROWS, -1, dtype=np.int32)),
        ("overpriced", "rows", np.full(ROWS, ROWS)),
        ("overpriced", "counts", np.zeros(ROWS, dtype=np.int64)),
        ("groups_above", "prices", np.full(ROWS, np.nan)),
    ],
)
def test_a_kernel_refuses_what_is_not_in_the_table(
    calls: dict[str, dict[str, Any]], name: str, argument: str, wrong: Any
) -> None:
    with pytest.raises(ValueError):
        getattr(kernels, name)(**{**calls[name], argument: wrong})


# ── blocks ──────────────────────────────────────────────────────────────────────────────────────


def block_of(table: EncodedTable, marks: kernels.Marks | None = None, k: int = 3) -> kernels.Block:
    return kernels.Block(kernels.Space(table.core), marks, np.arange(ROWS), k, 0.0, np.inf)


@pytest.mark.parametrize(
    ("argument", "wrong", "error"),
    [
        ("rows", np.array([0, ROWS]), ValueError),
        ("rows", np.array([-1]), ValueError),
        ("rows", np.arange(ROWS, dtype=np.int32), TypeError),
        ("rows", np.arange(2 * ROWS)[::2], TypeError),
        ("k", 0, ValueError),
        ("k", -3, ValueError),
        ("space", None, TypeError),
        ("space", "a space", TypeError),
        ("marks", "marks", TypeError),
    ],
)
def test_a_wrong_block_is_refused(
    table: EncodedTable, argument: str, wrong: Any, error: type[Exception]
) -> None:
    right = {
        "space": kernels.Space(table.core), "marks": None, "rows": np.arange(ROWS), "k": 3,
        "evenness": 0.0, "price": np.inf,
    }  # fmt: skip
    kernels.Block(**right)  # type: ignore[arg-type]
    with pytest.raises(error):
        kernels.Block(**{**right, argument: wrong})


def test_groups_that_are_not_of_the_block_are_refused(table: EncodedTable) -> None:
    block = block_of(table)
    for wrong in (np.zeros(ROWS - 1, dtype=np.int64), np.full(ROWS, ROWS // 3), np.full(ROWS, -2)):
        with pytest.raises(ValueError):
            block.load(wrong)
    with pytest.raises(TypeError):
        block.load(np.zeros(ROWS, dtype=np.int32))
    with pytest.raises(ValueError):
        block.settle(np.zeros(ROWS + 1, dtype=np.bool_))
    with pytest.raises(TypeError):
        block.settle(np.zeros(ROWS, dtype=np.int8))
    for wrong in (None, 7, np.random.RandomState(1)):  # type: ignore[assignment]
        with pytest.raises((AttributeError, TypeError, ValueError)):
            block.grow(wrong, kernels.Watch())  # type: ignore[arg-type]
    assert (block.labels == -1).all()


def test_groups_that_are_taken_over_replace_those_before(table: EncodedTable) -> None:
    block = block_of(table)
    block.grow(np.random.default_rng(1), kernels.Watch())
    grown, cost = block.labels, block.cost
    block.load(np.zeros(ROWS, dtype=np.int64))
    together = block.cost
    block.load(grown)
    assert block.cost == pytest.approx(cost)
    block.load(np.zeros(ROWS, dtype=np.int64))
    assert block.cost == together > cost
    block.grow(np.random.default_rng(1), kernels.Watch())
    assert (block.labels == grown).all()
    assert block.cost == cost


def marks_of(**changes: Any) -> kernels.Marks:
    """Two columns of three values each, one bounded in its shares, the other in a tree."""
    right: dict[str, Any] = {
        "classes": np.zeros(ROWS, dtype=np.int32),
        "penalty": 1.0,
        "values": np.tile(np.arange(3, dtype=np.int32), (ROWS, 1))[:, :2].copy(),
        "sorts": np.zeros(ROWS, dtype=np.int64),
        "places": np.array([[0, RuleKind.SHARES, 3, 0, 0], [1, RuleKind.TREE, 3, 0, 0]]),
        "asked": np.ones((2, 3)),
        "bounds": np.ones((2, 3)),
        "above": np.zeros((3, 1), dtype=np.int32),
        "nodes": np.ones((2, 1)),
        "atoms": np.empty(0, dtype=np.int64),
        "enough": 0,
    }
    return kernels.Marks(**{**right, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"classes": np.zeros(ROWS - 1, dtype=np.int32)},
        {"classes": np.empty(0, dtype=np.int32)},  # but a penalty
        {"penalty": -1.0},
        {"values": np.zeros((ROWS - 1, 2), dtype=np.int32)},
        {"values": np.full((ROWS, 2), 3, dtype=np.int32)},
        {"values": np.full((ROWS, 2), -2, dtype=np.int32)},
        {"places": np.array([[0, 1, 3, 0, 0]])},
        {"places": np.array([[0, 1, 3], [1, 1, 3]])},
        {"places": np.array([[2, 1, 3, 0, 0], [2, 1, 3, 0, 0]])},
        {"places": np.array([[1, 1, 3, 0, 0], [0, 1, 3, 0, 0]])},
        {"places": np.array([[0, 9, 3, 0, 0], [1, 1, 3, 0, 0]])},
        {"places": np.array([[0, 1, 3, 1, 0], [1, 1, 3, 0, 0]])},
        {"places": np.array([[0, 1, 3, 0, 0], [1, 6, 3, 0, 1]])},
        {"asked": np.ones((2, 2))},
        {"bounds": np.ones((1, 3))},
        {"bounds": np.ones((2, 2))},
        {"above": np.zeros((2, 1), dtype=np.int32)},
        {"above": np.ones((3, 1), dtype=np.int32)},
        {"nodes": np.ones((3, 1))},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_wrong_marks_are_refused(changes: dict[str, Any]) -> None:
    marks_of()
    with pytest.raises(ValueError):
        marks_of(**changes)


def test_marks_of_another_table_are_refused(table: EncodedTable) -> None:
    block = block_of(table, marks_of())
    block.load(np.zeros(ROWS, dtype=np.int64))
    assert block.cost > 0
    other = encode(Table(pl.DataFrame({"x": range(40)})), Schema.of(quasi={"x": "numeric"}))
    with pytest.raises(ValueError):
        block_of(other, marks_of())


def test_a_stopped_watch_ends_a_kernel(
    table: EncodedTable, calls: dict[str, dict[str, Any]]
) -> None:
    stopped = kernels.Watch()
    assert not stopped.stopped
    stopped.stop()
    assert stopped.stopped
    with pytest.raises(kernels.Stopped):
        kernels.k_member(**{**calls["k_member"], "watch": stopped})
    block = block_of(table, marks_of())
    block.load(np.zeros(ROWS, dtype=np.int64))
    assert not block.repair(stopped)
    assert (block.labels == 0).all()
