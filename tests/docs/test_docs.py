"""The pages are true and complete: their examples run, and they describe everything."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
import typer

import covey
from covey import demo
from covey.cli import main as cli
from covey.clustering import METHODS
from covey.demo import people
from covey.measures.loss import DEFINITIONS
from covey.schema import Column, Require, Schema, TableFormat, TaxonomyBuilder
from covey.studies import comparison
from covey_experiments import judging
from covey_experiments.figures import EXAMPLES, FIGURES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ROWS = 120
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
METRIC_PAGES = {
    "total_il": "total-il",
    "columns": "who-pays",
    "worst": "who-pays",
    "gcp": "ncp-gcp",
    "gcp_lm": "ncp-gcp",
    "precision": "precision",
    "discernibility": "discernibility",
    "average_class_size": "average-class-size",
    "classification": "classification",
    "entropy": "entropy",
    "monotone_entropy": "entropy",
    "non_uniform_entropy": "entropy",
    "information": "entropy",
    "sse": "sse",
    "queries": "queries",
}

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


class Block(NamedTuple):
    language: str
    text: str
    line: int  # of the page, the first of the text


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for fence in re.finditer(r"^```(\w+).*?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield Block(fence[1], fence[2], text.count("\n", 0, fence.start(2)) + 1)


@pytest.mark.slow
@every_page
def test_every_example_of_a_page_runs(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Beside a table and, unless the page drafts a schema of its own, the schema page's first."""
    monkeypatch.chdir(tmp_path)
    shorten(monkeypatch)
    text = page.read_text(encoding="utf-8")
    monkeypatch.setattr(METHODS, "data", dict(METHODS.data))  # others do not find a page's methods
    people(ROWS).write_csv("patients.csv")
    if "patients.xlsx" in text:
        pytest.importorskip("xlsxwriter")
        people(ROWS).write_excel("patients.xlsx")
    schema = next(block for block in blocks(DOCS / "schema.md") if block.language == "toml")
    columns = tomllib.loads(schema.text)["columns"]
    if "covey inspect patients.csv -o patients.toml\n" not in text:
        Path("patients.toml").write_text(schema.text, encoding="utf-8")
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        match block.language:
            case "python":
                if "sklearn" in block.text:
                    pytest.importorskip("sklearn")
                # The empty lines put the page's own line numbers into tracebacks.
                source = "\n" * (block.line - 1) + block.text
                exec(compile(source, str(page), "exec"), names)
            case "toml":
                Schema.from_dict({"columns": columns} | tomllib.loads(block.text))
            case "console" | "sh":
                for line in block.text.replace("\\\n", " ").splitlines():
                    if line.startswith("covey "):
                        run(line, capfd)


def shorten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pages invent fewer people, compare fewer methods if all, and try less for the best."""

    def shorter(invent: Callable[..., pl.DataFrame]) -> Callable[..., pl.DataFrame]:
        return lambda rows, **more: invent(min(rows, 3 * ROWS), **more)

    for name in ("people", "sal"):
        monkeypatch.setattr(demo, name, shorter(getattr(demo, name)))
    monkeypatch.setattr(comparison, "_all", lambda *_: ["covey", "k-member"])
    plans = sys.modules["covey.clustering.covey"].PLANS
    monkeypatch.setitem(plans, "best", replace(plans["best"], rounds=10, longer=1.0))
    monkeypatch.setattr("covey.clustering.optimum.partitions._WORK", 0)


def run(line: str, capfd: pytest.CaptureFixture[str]) -> None:
    """In this process, unless the line needs a shell: a process takes a second to start."""
    if set(line) & set("<>|&;$`*?"):
        covey = f'covey() {{ {shlex.quote(sys.executable)} -m covey "$@"; }}'
        code = subprocess.run(["sh", "-c", f"{covey}\n{line}"]).returncode
    else:
        code = cli.run(shlex.split(line)[1:])
    assert code == 0, f"{line}\n{capfd.readouterr().err}"


@pytest.mark.slow
def test_the_notebook_of_a_recipient_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    covey.anonymize(
        people(400), quasi=["age", "sex"], sensitive=["length_of_stay"], k=5, to="released.csv"
    )
    cells = json.loads((DOCS / "notebooks" / "reading.ipynb").read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert sum(len(source.split()) > 0 for source in "\n".join(sources).split("\n")) < 25
    names: dict[str, Any] = {}
    for source in sources:
        exec(source, names)
    low, high = names["effect"].interval()
    assert low < names["effect"].estimate < high


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    inner = [link for link in links if not re.match(r"[a-z]+:", link)]
    assert [link for link in inner if not (page.parent / link).exists()] == []


def test_the_index_leads_to_every_page() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} - {"index.md"}
    assert {page for page in pages if f"]({page})" not in index} == set()


def test_the_pictures_of_the_rooms_show_all_of_them() -> None:
    readme, index = (p.read_text(encoding="utf-8") for p in (ROOT / "README.md", DOCS / "index.md"))
    (picture,) = re.findall(r"^```text\n( +your table .*?)^```$", readme, re.MULTILINE | re.DOTALL)
    assert picture in index
    rooms = {f"{path.parent.name}/" for path in (ROOT / "src" / "covey").glob("*/__init__.py")}
    rooms -= {"experiments/"}
    others = {"cli/", "studio/", "studies/", "demo/", "engines/", "reading/", "reference/"}
    others.add("attacks/")
    assert set(re.findall(r"\w+/", picture)) | others == rooms
    explained = (DOCS / "architecture.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+/)` \|", explained, re.MULTILINE)) == rooms


def test_every_command_and_option_is_described() -> None:
    """In the command's own section, or in the one that several commands share."""
    page = (DOCS / "command-line.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n)*)", page, re.MULTILINE))
    for name, command in typer.main.get_command(cli.app).commands.items():  # type: ignore[attr-defined]
        assert f"covey {name}" in page
        shared = sections["What is detected"] + sections["Every command"]
        described = sections.get(f"covey {name}", "") + shared
        options = [o for p in command.params if p.param_type_name == "option" for o in p.opts]
        assert [o for o in options if not re.search(rf"`{o}[` ]", described)] == []


def test_every_setting_is_described() -> None:
    page = (DOCS / "schema.md").read_text(encoding="utf-8")
    models = (Column, Require, Schema, TableFormat, TaxonomyBuilder)
    settings = {name for model in models for name in model.model_fields}
    sections = {"columns", "require", "table", "build"}  # shown as `[columns.NAME]`, `build = …`
    assert {name for name in settings - sections if f"`{name}`" not in page} == set()
    assert all(f"[{name}" in page for name in ("columns.", "require]", "table]"))


@pytest.mark.parametrize("metric", DEFINITIONS)
def test_a_metric_is_defined_as_in_the_report(metric: str) -> None:
    page = (DOCS / "metrics" / f"{METRIC_PAGES[metric]}.md").read_text(encoding="utf-8")
    assert " ".join(DEFINITIONS[metric].split()) in " ".join(page.split())


@pytest.mark.parametrize("method", METHODS)
def test_a_method_has_a_page(method: str) -> None:
    assert (DOCS / "methods" / f"{method}.md").is_file()


def test_the_page_of_the_experiments_is_that_of_a_full_run_of_today_s_figures() -> None:
    """Drawn from points that are all there, by the code as it is but for its looks."""
    page = (DOCS / "experiments" / "index.html").read_text(encoding="utf-8")
    shown = set(re.findall(r'<article id="([^"]+)"', page))
    assert shown == {figure.name for figure in FIGURES} | {example.name for example in EXAMPLES}
    assert "This is a full run" in page
    assert "not measured yet" not in page
    points = pl.read_csv(DOCS / "experiments" / "summary.csv")
    assert set(points.select("figure", "line", "x").iter_rows()) == {
        (figure.name, line.label, x)
        for figure in FIGURES
        for line in figure.lines
        for x in figure.places(quick=False)
    }
    drawn = points.group_by("figure", "line", maintain_order=True).agg("x", "mean")
    for figure in FIGURES:
        curves = {
            line: judging.Curve(tuple(x), tuple(y), sizes=tuple(x))
            for _, line, x, y in drawn.filter(pl.col("figure") == figure.name).iter_rows()
        }
        for finding in judging.judge(figure.parts, curves).findings:
            told = escape(finding.says)
            assert told in page or told.startswith("Groups of"), (
                told
            )  # sizes are not in the summary
