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
    "cb": "e922734d8feff607",
    "gaa-cp": "6887471e15cac9c5",
    "ikac": "2a3a28765b44e055",
    "k-member": "e5f3f332c0b9befc",
    "kaca": "1800582c3c2f0ce4",
    "kacpc": "bdc8b2d19a903b8b",
    "mdav": "7d7169304437152e",
    "mondrian": "883cbd1a91ca9c45",
    "nh": "1a05a8057e7f0b45",
    "oka": "9147e414c7c9c7fb",
    "systematic": "9d289603370d4274",
    "wf-c-means": "0315d3dfed48d9c0",
    "covey fast": "a2c32ed291389770",
    "covey quick": "ea15eeab31614a2c",
    "covey balanced": "5c1ed77d32d05585",
    "covey best": "4d63104d47e7c880",
    "a seed": "88e217f44a231230",
    "in order": "058a19f1296072d0",
    "refined": "e470b5f4b9db88c3",
    "suppressing": "70a72a84b8403cd4",
    "value sets": "611810047dedb130",
    "a class column": "6d3e3dc57e879ee9",
    "wildcards": "297333ad92f8816a",
    "dropped": "9ef32059c09a933a",
    "persons": "037ade2a7b2c789c",
    "l": "d5a65e2159882630",
    "l by another": "186221d240576e27",
    "t": "c0cae744a9c50a9d",
    "alpha": "c3752adf6f6a938a",
    "beta": "14b78a13496a1b4d",
    "delta": "a68e254759a10955",
    "all of it": "9b0a5179e777c01f",
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
