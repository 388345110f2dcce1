"""Earlier releases: the same key and request must give the same bytes.

An adversary can combine two versions of one release, so a change of a single byte needs a line in
the CHANGELOG. `python tests/test_golden.py` prints the current digests.
"""

import hashlib
import io
from typing import Any

import polars as pl
import pytest

import covey
from covey import tables

ROWS = 240
KEY = bytes(range(32))
TREE: dict[str, Any] = {
    "school": {"primary": {}, "secondary": {}},
    "higher": {"college": {}, "university": {}},
}


def people(rows: int = ROWS) -> pl.DataFrame:
    """People by arithmetic alone, with cells missing and some people twice."""
    state, drawn = 12345, []
    for _ in range(rows * 8):
        state = (1103515245 * state + 12345) % 2**31
        drawn.append(state >> 8)
    draw = iter(drawn)
    cells: dict[str, list[Any]] = {
        name: [] for name in ("who", "age", "sex", "zip", "school", "born", "illness", "pay")
    }
    for _ in range(rows):
        cells["who"].append(f"p{next(draw) % (rows * 2 // 3)}")
        age = next(draw) % 70 + 18
        cells["age"].append(None if age == 33 else age)
        cells["sex"].append("fm"[next(draw) % 2])
        cells["zip"].append(f"{next(draw) % 6 + 10}{next(draw) % 4}")
        school = ("primary", "secondary", "college", "university", None)[next(draw) % 5]
        cells["school"].append(school)
        cells["born"].append(f"{2006 - age}-{next(draw) % 12 + 1:02}-15")
        cells["illness"].append(("flu", "cold", "asthma", "fracture", "ulcer")[next(draw) % 5])
        cells["pay"].append(20_000 + age * 500)
    return pl.DataFrame(cells)


def schema(missing: str = "category", **require: Any) -> covey.Schema:
    quasi = {"role": "quasi", "missing": missing}
    return covey.Schema.from_dict(
        {
            "columns": {
                "who": {"role": "identifier"},
                "age": {**quasi, "type": "numeric", "grid": 5, "top": 80},
                "sex": {**quasi, "type": "categorical"},
                "zip": {**quasi, "type": "categorical", "taxonomy": {"build": "prefixes"}},
                "school": {**quasi, "type": "categorical", "taxonomy": TREE, "weight": 2.0},
                "born": {**quasi, "type": "date", "grid": "year"},
                "illness": {"role": "sensitive"},
                "pay": {"role": "sensitive", "type": "numeric"},
            },
            "require": {"person": False, **require},
        }
    )


BY_METHOD: dict[str, dict[str, Any]] = {
    name: {"method": name} for name in sorted(covey.METHODS) if name != "covey"
}
REQUESTS: dict[str, dict[str, Any]] = {
    **BY_METHOD,
    "covey fast": {"effort": "fast"},
    "covey quick": {"effort": "quick"},
    "covey balanced": {},
    "covey best": {"effort": "best"},
    "a seed": {"seed": 7},
    "in order": {"keep_order": True},
    "refined": {"method": "mondrian", "refine": True},
    "suppressing": {"max_suppressed": 0.1},
    "value sets": {"style": covey.Style("values", "columns")},
    "a class column": {"class_column": "illness"},
    "wildcards": {"missing": "wildcard"},
    "dropped": {"missing": "drop-row"},
    "persons": {"require": {"person": "who"}},
    "l": {"require": {"l": {"illness": 3}}},
    "l by another": {"require": {"l": {"illness": "entropy:2.5"}}, "method": "k-member"},
    "t": {"require": {"t": {"pay": 0.3}}},
    "alpha": {"require": {"alpha": {"illness": 0.5}}},
    "beta": {"require": {"beta": {"illness": 2}}},
    "delta": {"require": {"delta": {"illness": 1.5}}},
    "all of it": {
        "require": {"person": "who", "l": {"illness": 2}, "t": {"pay": 0.5}},
        "max_suppressed": 0.2,
        "missing": "wildcard",
    },
}
DIGESTS = {
    "cb": "29754435e6886ed7",
    "gaa-cp": "aede926406715f9e",
    "ikac": "8c3610185b97e58c",
    "k-member": "abe6cee196bac99a",
    "kaca": "fabe1362156d94ed",
    "kacpc": "7abc3ed4e5ff9c0c",
    "mdav": "7d7169304437152e",
    "mondrian": "883cbd1a91ca9c45",
    "nh": "5833019b63176448",
    "oka": "b343d02dd297337e",
    "systematic": "8afe79a537e2b615",
    "wf-c-means": "d3ca70d0960d709e",
    "covey fast": "f0397e8d7553c5fa",
    "covey quick": "ce5cb2923366d322",
    "covey balanced": "945cf8775fffca7f",
    "covey best": "7dc4f68b72165876",
    "a seed": "ff6633754a7c9c8c",
    "in order": "dd27a60987dbe2f9",
    "refined": "bcd8e1462aac0ca1",
    "suppressing": "ad4af76fd1995a10",
    "value sets": "0bc2c93902ace0cd",
    "a class column": "f9fe33e6d7bde65a",
    "wildcards": "2f08d64a2b5bec8c",
    "dropped": "532b1058b3c13885",
    "persons": "97b6720481fcd0ad",
    "l": "8c51adf1ca0af928",
    "l by another": "00df8f3343c4a4aa",
    "t": "1459ea38806a0c5b",
    "alpha": "cab168b3857ce07e",
    "beta": "b76acd43312b2a27",
    "delta": "5b70a320d0c22c4a",
    "all of it": "e03110c345ea1431",
}


def digest(request: dict[str, Any]) -> str:
    rest = dict(request)
    asked = schema(rest.pop("missing", "category"), k=4, **rest.pop("require", {}))
    key = None if "seed" in rest else KEY
    release = covey.anonymize(people(), asked, key=key, **rest)
    file = io.BytesIO()
    tables.write(release._own.released, file, "released.csv", defuse=True)
    return hashlib.sha256(file.getvalue()).hexdigest()[:16]


@pytest.mark.parametrize("name", REQUESTS)
def test_the_same_key_and_request_give_the_same_bytes(name: str) -> None:
    assert digest(REQUESTS[name]) == DIGESTS[name]


if __name__ == "__main__":
    for name, request in REQUESTS.items():
        print(f'    "{name}": "{digest(request)}",')  # noqa: T201
