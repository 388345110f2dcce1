"""A copied or pickled release holds what may be published, and nothing else."""

import copy
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import covey
from covey.encoding import EncodedTable
from covey.encoding.selection import Selection

SECRET = "Q7-secret"
dice = random.Random(5)
PEOPLE = pl.DataFrame(
    {
        "name": [f"{SECRET}-{row}" for row in range(40)],
        "age": [dice.randint(20, 80) * 1_000_003 for _ in range(40)],
        "town": [dice.choice(["Ash", "Birch", "Cedar"]) for _ in range(40)],
        "illness": [dice.choice(["flu", "cold"]) for _ in range(40)],
    }
)
SCHEMA = covey.Schema.of(
    quasi={"age": {"type": "numeric", "grid": 10_000_000}, "town": "categorical"},
    sensitive=["illness"],
    identifier=["name"],
)


def sent(release: covey.Release) -> covey.Release:
    again: covey.Release = pickle.loads(pickle.dumps(release))
    return again


@pytest.fixture(scope="module", params=["covey", "nh"])
def release(request: pytest.FixtureRequest) -> covey.Release:
    return covey.anonymize(
        PEOPLE, SCHEMA, require=[covey.KAnonymity(4)], method=request.param, key=bytes(32)
    )


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, sent])
def test_a_copy_holds_what_is_published_and_nothing_else(
    release: covey.Release, copied: Callable[[covey.Release], covey.Release], tmp_path: Path
) -> None:
    again = copied(release)
    assert again.table.equals(release.table)
    assert again.report.to_json() == release.report.to_json()
    assert again.verdict == release.verdict
    asked: list[Callable[[], Any]] = [
        lambda: again.groups,
        lambda: again.rows,
        lambda: again.costs,
        lambda: again.workload(PEOPLE),
        lambda: again.write(tmp_path / "r.csv"),
    ]
    for ask in asked:
        with pytest.raises(covey.UsageError, match="copy"):
            ask()
    assert not list(tmp_path.iterdir())
    assert release.costs.height == PEOPLE.height  # the release itself still knows


def test_a_pickle_holds_no_exact_value_and_no_order(release: covey.Release) -> None:
    data = pickle.dumps(release)
    assert SECRET.encode() not in data
    for age in set(PEOPLE["age"]):
        for form in (float(age), age):
            assert pickle.dumps(form)[2:-1] not in data
    assert not found_in(pickle.loads(data), Selection, covey.Groups, EncodedTable)


def test_a_release_of_classes_holds_no_cell_of_the_original() -> None:
    made = covey.anonymize(PEOPLE, SCHEMA, require=[covey.KAnonymity(4)], key=bytes(32))
    assert not found_in(made, EncodedTable)
    kept = [frame for frame in found_in(made, pl.DataFrame) if frame.height]
    assert all(set(frame.columns) <= {"age", "town", "illness"} for frame in kept)
    exact = {str(age) for age in PEOPLE["age"]}
    assert all(not exact & set(frame["age"].cast(pl.String)) for frame in kept)


def test_a_release_that_counts_persons_holds_nobody_s_name() -> None:
    schema = SCHEMA.model_copy(
        update={"require": SCHEMA.require.model_copy(update={"person": "name"})}
    )
    made = covey.anonymize(PEOPLE, schema, require=covey.KAnonymity(4), key=bytes(32))
    assert made.verdict.holds
    held = [cells.cast(pl.String).str.to_lowercase() for cells in found_in(made, pl.Series)]
    assert held  # the persons of the rows, by number
    assert not any(cells.str.contains(SECRET.lower()).any() for cells in held)


def found_in(thing: Any, *kinds: type) -> list[Any]:
    """All objects of some kinds that can be reached from another, through closures too."""
    found, seen, open_ = [], set(), [thing]
    while open_:
        one = open_.pop()
        if id(one) in seen or isinstance(one, str | bytes | int | float | type):
            continue
        seen.add(id(one))
        if isinstance(one, kinds):
            found.append(one)
        if isinstance(one, dict):
            open_ += [*one, *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            open_ += one
        open_ += [part for part in (getattr(one, "__dict__", None),) if part]
        open_ += [getattr(one, name) for name in ("func", "args", "keywords") if hasattr(one, name)]
        open_ += [cell.cell_contents for cell in getattr(one, "__closure__", None) or ()]
    return found
