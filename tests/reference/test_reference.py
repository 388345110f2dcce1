"""The reference as others use it: complete, by seed, and on any table that covey reads."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import covey
from covey import demo, reference
from covey.clustering import METHODS
from covey.encoding import EncodedTable
from examples import examples
from oracles.metrics import total_il
from tables_of_people import People, people

ROOT = Path(__file__).parents[2]
seeds = st.integers(0, 2**64)
by_name = pytest.mark.parametrize("name", reference.METHODS)


def in_plain_python(name: str) -> Any:
    """The reference of a method, as a method of one's own."""

    def method(table: EncodedTable, k: int, *, seed: int) -> list[int]:
        return reference.cluster(table.plain, k, method=name, seed=seed, measure=table.measure)

    return method


def test_every_method_has_a_reference() -> None:
    own = {name for name, method in METHODS.items() if method.is_own}
    assert set(reference.METHODS) == own


@by_name
def test_the_page_of_a_method_leads_to_its_reference(name: str) -> None:
    module = f"src/covey/reference/{name.replace('-', '_')}.py"
    assert (ROOT / module).is_file()
    page = (ROOT / "docs" / "methods" / f"{name}.md").read_text(encoding="utf-8")
    assert f"](../../{module})" in page


@by_name
def test_a_reference_tells_its_paper_and_its_cost(name: str) -> None:
    module = ROOT / "src" / "covey" / "reference" / f"{name.replace('-', '_')}.py"
    text = module.read_text(encoding="utf-8").partition('"""')[2].partition('"""')[0]
    authors, _, year = METHODS[name].paper.rpartition(" ")
    if name == "covey":  # its page takes the place of a paper
        authors, year = "docs/methods/covey.md", ""
    assert all(author in text for author in authors.split(", "))
    assert year in text
    assert "\nCost: " in text


@given(st.sampled_from([*reference.METHODS]), people(most=12), st.data())
@examples(120)
def test_plain_columns_give_the_same_labels(name: str, table: People, data: st.DataObject) -> None:
    k, seed = data.draw(st.integers(1, table.rows), "k"), data.draw(seeds, "seed")
    encoded = table.encoded()
    labels = reference.cluster(encoded.plain, k, method=name, seed=seed, measure=encoded.measure)
    assert labels == METHODS[name](encoded, k, seed=seed).labels.tolist()


@given(people(least=2, most=14), st.data())
@examples(60)
def test_plain_columns_of_some_rows_lose_as_much(table: People, data: st.DataObject) -> None:
    """The scales and trees stay those of all rows, whichever cells are missing."""
    rows = data.draw(st.lists(st.integers(0, table.rows - 1), min_size=1, unique=True))
    encoded, measure = table.encoded(), table.schema.loss
    labels = [0 if row in rows else -1 for row in range(table.rows)]
    whole = total_il(encoded.plain, labels, measure)
    left_out = table.rows - len(rows)
    taken = encoded.take(pl.Series(rows, dtype=pl.Int64).to_numpy()).plain
    lost = total_il(taken, [0] * len(rows), measure) + left_out * sum(
        column.weight for column in taken.values()
    )
    assert lost == pytest.approx(whole, rel=1e-12, abs=1e-12)
    assert total_il(table.oracle, labels, measure) == pytest.approx(whole, rel=1e-9, abs=1e-9)


# covey accepts rings only from a method that is chosen by name.
@pytest.mark.parametrize("name", [name for name in reference.METHODS if name != "nh"])
def test_a_reference_runs_as_a_method_on_any_schema(name: str) -> None:
    """Grids, bounds, taxonomies, and missing cells that match anything."""
    names = ["age", "sex", "zip", "education", "admission_date"]
    frame = demo.people(24).select(names)
    frame = frame.with_columns(age=pl.when(pl.col("age") % 7 > 0).then(pl.col("age")))
    schema = covey.Schema(columns={name: demo.schema().columns[name] for name in names})
    ages = covey.Column(
        type="numeric", role="quasi", missing="wildcard", top=60, domain=(0, 120), grid=5
    )
    schema = schema.model_copy(update={"columns": schema.columns | {"age": ages}})
    slow, fast = (
        covey.cluster(frame, schema, k=4, method=method, seed=3)
        for method in (in_plain_python(name), name)
    )
    assert frame["age"].null_count() > 2
    assert slow.labels.tolist() == fast.labels.tolist()


@by_name
@pytest.mark.parametrize("k", [0, 4])
def test_k_is_from_1_to_the_number_of_rows(name: str, k: int) -> None:
    with pytest.raises(ValueError, match="anonymous"):
        reference.cluster({"x": reference.Numeric([1, 2, 3])}, k, method=name)


def test_an_unknown_reference_is_refused() -> None:
    with pytest.raises(KeyError, match="k-menber"):
        reference.cluster({"x": reference.Numeric([1, 2])}, 2, method="k-menber")
