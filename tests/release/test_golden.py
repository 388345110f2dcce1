"""Earlier releases: the same key and request must give the same bytes.

An adversary can combine two versions of one release, so a change of a single byte needs a line in
the CHANGELOG. `python tests/release/test_golden.py` prints the current digests.
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
    "cb": "1e423521ae6c70e2",
    "gaa-cp": "8b93a87ab1f07eff",
    "ikac": "cba0b5098abb09a9",
    "k-member": "fed82f9c7ab4f116",
    "kaca": "ae8b99295133cc27",
    "kacpc": "7abc3ed4e5ff9c0c",
    "mdav": "7d7169304437152e",
    "mondrian": "883cbd1a91ca9c45",
    "nh": "6f01c597ab2f8c76",
    "oka": "612caddb906e90b2",
    "systematic": "a5c0ce380505858b",
    "wf-c-means": "4d8745af163e9988",
    "covey fast": "217543b5f8c139ef",
    "covey quick": "c8704914fdbf300f",
    "covey balanced": "522e0a50f6a429b0",
    "covey best": "70f7d885a9dabe36",
    "a seed": "70f7d885a9dabe36",
    "in order": "d37e22a85183cfd3",
    "refined": "d99ea1e63ecc0c15",
    "suppressing": "ebb7157945de5cc5",
    "value sets": "d290096d6b5faca0",
    "a class column": "39cd4b2e084d5efb",
    "wildcards": "0ca24e6c1d6fcf42",
    "dropped": "1d2d02692441fcad",
    "persons": "e9a12aca0b91ac7d",
    "l": "9bc004eef6e04c0a",
    "l by another": "112729130c6a6d18",
    "t": "2237cab013c9c2b1",
    "alpha": "aa713289fdafebec",
    "beta": "cbe80f04c433f3c1",
    "delta": "9d1415b5868542b9",
    "all of it": "80df9e6bde8e6e0e",
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
