"""Kernels are compiled for one kind of arguments and cached on disk, and users are informed."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from covey import demo
from covey.clustering import METHODS
from covey.encoding import EncodedTable, encode
from covey.schema import Schema
from covey.tables import Table

pytestmark = pytest.mark.compiled


def tables() -> list[EncodedTable]:
    """Of all kinds that might be taken for different types: mixed, numbers, categories only."""
    random = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "x": [None, *random.random(79)],
            "y": random.integers(0, 9, 80),
            "c": [None, *random.choice(list("abc"), 79)],
            "d": random.choice(list("stu"), 80),
        }
    )
    kinds = {"x": "numeric", "y": "numeric", "c": "categorical", "d": "categorical"}
    people = encode(Table(demo.people(80)), demo.schema())
    parts = [("x", "y", "c"), ("x",), ("y",), ("c", "d"), ("d",)]
    schemas = [Schema.of(quasi={name: kinds[name] for name in part}) for part in parts]
    return [
        people,
        *(encode(Table(frame.select(list(schema.quasi))), schema) for schema in schemas),
    ]


def signatures() -> dict[str, int]:
    """For how many kinds of arguments each kernel has been compiled, or found on disk."""
    return {
        f"{module}.{name}": len(thing.signatures)
        for module in list(sys.modules)
        if module.startswith("covey._core.")
        for name, thing in vars(sys.modules[module]).items()
        if hasattr(thing, "signatures")
    }


# The others are built with covey.
BUILT = {"k-member", "systematic", "gaa-cp", "mondrian", "cb", "nh"}


@pytest.mark.parametrize("name", [name for name in METHODS if name not in BUILT])
def test_no_table_is_compiled_for_twice(name: str) -> None:
    first, *others = tables()
    METHODS[name](first, 3)
    before = signatures()
    assert before
    for table in others:
        METHODS[name](table, 4)
    assert signatures() == before


def test_the_first_use_says_that_it_compiles(tmp_path: Path) -> None:
    """And the second one does not, since it finds what the first has made."""
    pl.DataFrame({"age": range(30)}).write_csv(tmp_path / "ages.csv")
    (tmp_path / "ages.toml").write_text('[columns.age]\nrole = "quasi"\ntype = "numeric"\n')
    command = [sys.executable, "-m", "covey", "anonymize", "ages.csv", "-s", "ages.toml"]
    command += ["-k", "3", "-o", "released.csv", "--method", "covey"]
    settings = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    told = [
        subprocess.run(
            command, cwd=tmp_path, env=settings, capture_output=True, text=True, check=True
        ).stderr.count("compiling for this machine")
        for _ in range(2)
    ]
    assert told == [1, 0]
