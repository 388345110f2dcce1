"""Methods that others write: as a function, by name, and from a package."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import covey
from covey import demo
from covey.clustering import METHODS, Method, as_method, bibliography, method_named, registry
from covey.clustering.papers import PAPERS, cited
from covey.encoding import encode
from covey.methods import EncodedTable
from covey.tables import Table

ROOT = Path(__file__).parents[2]
FRAME = pl.DataFrame({"age": [1, 2, 3, 11, 12, 13, 40], "job": [*"aabbabc"]})
SCHEMA = covey.Schema.of(quasi={"age": "numeric"}, sensitive=["job"])
LABELS = [0, 0, 0, 1, 1, 1, 1]


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test makes known, others do not find."""
    monkeypatch.setattr(METHODS, "data", dict(METHODS.data))
    monkeypatch.setattr(METHODS, "faults", {})


def blocks(table: EncodedTable, k: int, *, backwards: bool = False) -> Any:
    """Cut the sorted rows into blocks."""
    order = table.lexicographic[:: -1 if backwards else 1]
    labels = np.empty(table.rows, dtype=np.int64)
    labels[order] = np.minimum(np.arange(table.rows) // k, table.rows // k - 1)
    return labels


def given(labels: Any) -> Method:
    return Method("given", lambda *_, **__: labels)


def cluster(method: Any, k: int = 3, **settings: Any) -> list[int]:
    found = covey.cluster(FRAME, SCHEMA, k=k, method=method, **settings)
    return list(map(int, found.labels))


# ── names and functions ─────────────────────────────────────────────────────────────────────────


def test_a_function_becomes_a_method_of_this_process() -> None:
    plain = covey.method(blocks)
    named = covey.method(name="sorted-blocks", paper="Ours 2026", cost="O(n log n)")(blocks)
    assert METHODS["blocks"] is plain
    assert METHODS["sorted-blocks"] is named is as_method("sorted-blocks")
    assert (named.paper, named.cost, named.summary) == (
        "Ours 2026",
        "O(n log n)",
        "Cut the sorted rows into blocks.",
    )
    assert not named.is_own
    for method in (blocks, "blocks", "sorted-blocks", named):
        assert cluster(method) == LABELS
        assert cluster(method, backwards=True) == [1, 1, 1, 1, 0, 0, 0]


@pytest.mark.slow
def test_what_takes_a_method_takes_a_function_a_name_and_an_object() -> None:
    named = covey.method(name="sorted-blocks")(blocks)
    request: dict[str, Any] = {"require": covey.KAnonymity(3), "seed": 1}
    for method, name in (
        (blocks, "blocks"),
        ("sorted-blocks", "sorted-blocks"),
        (named, named.name),
    ):
        release = covey.anonymize(FRAME, SCHEMA, method=method, **request)
        assert (release.report.method, release.verdict.k) == (name, 3)
        assert covey.curve(FRAME, SCHEMA, k=[2, 3], method=method, seed=1).method == name
    found = covey.compare(FRAME, SCHEMA, k=3, methods=[blocks, "mondrian", named], seed=1)
    assert [(run.method, run.name, run.error) for run in found.runs] == [
        ("blocks", "blocks", None),
        ("mondrian", "mondrian", None),
        ("sorted-blocks", "sorted-blocks", None),
    ]
    with_options = covey.compare(FRAME, SCHEMA, k=3, methods="sorted-blocks:backwards=true")
    assert with_options.runs[0].options == {"backwards": True}
    assert covey.compare(FRAME, SCHEMA, k=3, methods=blocks).runs[0].name == "blocks"
    with pytest.raises(covey.UsageError, match="blocks is given 2 times"):
        covey.compare(FRAME, SCHEMA, k=3, methods=[blocks, blocks])


def test_methods_are_found_by_name_and_described_by_their_first_line() -> None:
    assert method_named("k-member") is METHODS["k-member"]
    assert "one group of k" in METHODS["k-member"].summary
    with pytest.raises(covey.UsageError, match="k-member"):
        method_named("k-menber")


def test_partial_functions_and_objects_are_methods_too() -> None:
    class Blocks:
        def __call__(self, table: "Unknown", k: int) -> Any:  # type: ignore[name-defined]  # noqa: F821
            return blocks(table, k)

    assert cluster(Blocks()) == LABELS
    assert cluster(partial(blocks, backwards=True)) == [1, 1, 1, 1, 0, 0, 0]
    with pytest.raises(covey.UsageError, match="a name, a function"):
        cluster(3)


@pytest.mark.parametrize("name", ["k-member", "all", "a:b", "a,b", "a b", "-a", "<lambda>"])
def test_a_name_must_be_free_and_fit_the_command_line(name: str) -> None:
    with pytest.raises(covey.UsageError, match=re.escape(name)):
        covey.method(name=name)(blocks)
    assert METHODS["k-member"].is_own


def test_a_name_of_one_s_own_can_be_given_again() -> None:
    first, again = covey.method(blocks), covey.method(blocks)
    assert METHODS["blocks"] is again is not first


def test_texts_handed_to_a_method_of_others_are_not_published() -> None:
    """They may be anything, such as a value of somebody in the table."""

    @covey.method(name="limited")
    def limited(table: Any, k: int, *, where: str, limit: int) -> Any:
        return blocks(table, k)

    own: dict[str, Any] = {"where": "secret", "limit": 4}
    release = covey.anonymize(FRAME, SCHEMA, require=covey.KAnonymity(3), method="limited", **own)
    assert release.report.options == {"where": "…", "limit": 4}


# ── what they return ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "labels",
    [
        [7, 7, 7, 2, 2, 2, -1],
        np.array([7, 7, 7, 2, 2, 2, -1], dtype=np.int16),
        pl.Series([7, 7, 7, 2, 2, 2, -1]),
    ],
)
def test_labels_may_be_any_whole_numbers(labels: Any) -> None:
    assert cluster(given(labels)) == [1, 1, 1, 0, 0, 0, -1]


@pytest.mark.parametrize(
    ("labels", "error", "fact"),
    [
        ([0] * 5, covey.GuaranteeError, "5 rows, but the table has 7 rows"),
        ([], covey.GuaranteeError, "0 rows, but the table has 7 rows"),
        ([0, 0, 0, 0, 0, 1, 1], covey.GuaranteeError, "group of only 2 rows, but k = 3"),
        ([-1] * 7, covey.GuaranteeError, "group of only 0 rows"),
        (covey.Groups([0, 0, 0, 2, 2, 2, 2]), covey.GuaranteeError, "group of only 0 rows"),
        ([0.0, 0, 0, 0, 0, 0, float("nan")], covey.UsageError, "'given'.*whole number"),
        ([*"aaaaaaa"], covey.UsageError, "whole number"),
        ([-2] * 7, covey.UsageError, "one whole number per row"),
        ([[0] * 7], covey.UsageError, "whole number"),
        ([[0], [0, 0]], covey.UsageError, "whole number"),
        (None, covey.UsageError, "whole number"),
    ],
)
def test_wrong_results_are_refused(labels: Any, error: type[Exception], fact: str) -> None:
    with pytest.raises(error, match=fact):
        cluster(given(labels))


def test_rows_that_are_not_alike_must_be_announced() -> None:
    function = METHODS["nh"].function
    with pytest.raises(covey.UsageError, match="by name"):
        cluster(function)
    assert cluster(Method("rings", function, alike=False), seed=1) == cluster("nh", seed=1)


def test_seeds_fit_scikit_learn_and_covey_s_own_stay_whole() -> None:
    seen: list[int] = []

    def recording(table: Any, k: int, *, seed: int) -> Any:
        seen.append(seed)
        return blocks(table, k)

    encoded = encode(Table(demo.people(20)), demo.schema())
    large = 2**127 + 5
    for method in (Method("of others", recording), Method("covey's", recording, is_own=True)):
        for seed in (7, large, large, large + 1):
            method(encoded, 3, seed=seed)
    small, again, other = seen[1:4]
    assert seen[0] == 7
    assert small == again != other
    assert all(0 <= seed < 2**32 for seed in seen[:4])
    assert seen[4:] == [7, large, large, large + 1]
    assert all(method.is_own for method in METHODS.values())


# ── packages ────────────────────────────────────────────────────────────────────────────────────

PLUG_IN = """
import covey

PAPER = "@misc{they2026,\\n  author = {Ann They},\\n  year = {2026},\\n}"

@covey.method(name="brought", bibtex=PAPER)
def brought(table, k, *, seed):
    "Everybody together."
    return [0] * table.rows

def plain(table, k):
    return [0] * table.rows

number = 3
"""
ENTRIES = """
[covey.methods]
brought = plug_in_for_covey:brought
plain = plug_in_for_covey:plain
broken = plug_in_for_covey.nowhere:method
k-member = plug_in_for_covey:plain
number = plug_in_for_covey:number
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with an installed package that brings methods, some of them broken."""
    (tmp_path / "plug_in_for_covey.py").write_text(PLUG_IN)
    facts = tmp_path / "covey_plug_in-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: covey-plug-in\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(METHODS, "_searched", False)
    yield tmp_path
    sys.modules.pop("plug_in_for_covey", None)


@pytest.mark.usefixtures("package")
def test_packages_bring_methods_and_a_broken_one_does_not_break_others() -> None:
    own = [*METHODS.data]
    with pytest.warns(UserWarning, match="covey-plug-in") as caught:
        assert [*METHODS] == [*own, "brought", "plain"]
    texts = [str(one.message) for one in caught]
    assert len(texts) == 3
    for name, text in zip(("broken", "k-member", "number"), texts, strict=True):
        assert repr(name) in text
    assert "ModuleNotFoundError" in texts[0]
    assert METHODS["k-member"].is_own
    assert cluster("brought") == cluster("plain") == [0] * 7
    with pytest.raises(covey.UsageError, match=r"'broken'.*could not be loaded"):
        cluster("broken")
    with pytest.raises(covey.UsageError, match=r"no method 'brougt'; .*brought, plain"):
        cluster("brougt")
    assert "@misc{they2026" in bibliography()


def test_nobody_looks_for_packages_before_they_are_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def looked(**_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(METHODS, "_searched", False)
    monkeypatch.setattr(registry, "entry_points", looked)
    request: dict[str, Any] = {"require": covey.KAnonymity(3), "seed": 1}
    covey.anonymize(FRAME, SCHEMA, method="mondrian", **request)
    covey.anonymize(FRAME, SCHEMA, method=blocks, **request)
    covey.compare(FRAME, SCHEMA, k=3, methods=["mondrian", blocks])
    with pytest.raises(AssertionError):
        cluster("brought")


@pytest.mark.slow
def test_the_command_line_knows_the_methods_of_packages(package: Path) -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(package), *filter(None, [os.environ.get("PYTHONPATH")])])
        return subprocess.run(
            [sys.executable, "-m", "covey", *words],
            capture_output=True,
            text=True,
            check=True,
            cwd=package,
            env={**os.environ, "PYTHONPATH": path},
        )

    listed = run("methods", "--json")
    facts = {method["name"]: method for method in json.loads(listed.stdout)}
    assert facts["brought"] == {
        "name": "brought", "summary": "Everybody together.", "paper": "They 2026", "cost": "",
        "specified": True,
    }  # fmt: skip
    assert [line.count("'broken'") for line in listed.stderr.splitlines()].count(1) == 1
    assert "registry.py" not in listed.stderr
    FRAME.write_csv(package / "people.csv")
    (package / "people.toml").write_text(
        'columns.age = { role = "quasi", type = "numeric" }\ncolumns.job = { role = "sensitive" }\n'
    )
    run(
        *("anonymize", "people.csv", "-s", "people.toml", "-k", "3", "--method", "brought"),
        *("-o", "out.csv"),
    )
    assert set(pl.read_csv(package / "out.csv")["age"]) == {"[1, 40]"}


# ── papers ──────────────────────────────────────────────────────────────────────────────────────


def test_every_method_names_its_paper_once() -> None:
    keys = re.findall(r"^@\w+\{(.+),$", bibliography(), re.MULTILINE)
    assert keys == [*dict.fromkeys(keys)]
    assert set(keys) == set(PAPERS)
    assert keys[0] == "covey"
    for method in METHODS.values():
        assert method.bibtex
        page = (ROOT / "docs" / "methods" / f"{method.name}.md").read_text(encoding="utf-8")
        names, _, year = method.paper.rpartition(" ")
        assert method.name == "covey" or re.search(
            rf"^{names}: [^.]*\s{year}\b", page, re.MULTILINE
        )


def test_covey_is_cited_as_its_citation_file_says() -> None:
    facts = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (author,) = project["authors"]
    assert f"version: {project['version']}\n" in facts
    assert f"  - name: {author['name']}\n" in facts
    assert f"author = {{{{{author['name']}}}}}" in PAPERS["covey"]
    assert "title: covey\n" in facts
    assert "title = {covey}" in PAPERS["covey"]
    assert f"Version {project['version']}" in PAPERS["covey"]


def test_a_paper_is_cited_by_last_names_and_year() -> None:
    entry = '@article{x,\n  Author = "Ann B. Lee and {O}rtiz, C.",\n  year = {2001}\n}'
    assert cited(entry) == "Lee, Ortiz 2001"
    assert cited("") == ""
    noted = Method("noted", blocks, paper="Ours 2026")
    METHODS.add(noted)
    assert "@misc{noted,\n  note = {Ours 2026},\n}" in bibliography()
