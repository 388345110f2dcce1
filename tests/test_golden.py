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
    "cb": "d1f6d92d91886a80",
    "gaa-cp": "0c28605bb0c154e5",
    "ikac": "dd06a118ba858709",
    "k-member": "26bf7c722b062a1e",
    "kaca": "f57e274d7bf354a4",
    "kacpc": "0ae9fca7f9d5b1fa",
    "mdav": "f6906eb38163cb1c",
    "mondrian": "99aeaee2ffcff196",
    "nh": "2597f1f49d394347",
    "oka": "aa46de7aceb39e5c",
    "systematic": "c69213f1172c03f3",
    "wf-c-means": "4534ad0ea5c12af7",
    "covey fast": "678a97317ac05c5c",
    "covey quick": "0d6b2a47c9aaf5c1",
    "covey balanced": "2ddb78b61ef73de4",
    "covey best": "ed3f1fee281ea4ac",
    "a seed": "b7df5482855b53c9",
    "in order": "9b075e02f3181324",
    "refined": "6d2fbb7c04f111c1",
    "suppressing": "0657798ebf251cdc",
    "value sets": "a0b0d666ddf5cbad",
    "a class column": "acf2f0d0e19862c3",
    "wildcards": "445bed93017e3fa9",
    "dropped": "2d70f1c3e210634f",
    "persons": "073bd9ad25d753c5",
    "l": "8a5743953d770614",
    "l by another": "165710d6d9db8608",
    "t": "c4665236124feab8",
    "alpha": "e8953a0e30621bbb",
    "beta": "4c7972d2d1e582e6",
    "delta": "c82d0f7ec551e6ee",
    "all of it": "b9f3a79b474fa53b",
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
