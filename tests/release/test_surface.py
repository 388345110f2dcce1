"""The public names and options of covey, and what it loads only when needed."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

import covey
import covey_experiments
from covey import methods
from covey.cli.main import app

PUBLIC = {
    "METHODS", "About", "AlphaK", "Attack", "BetaLikeness", "Column", "Comparison",
    "CoveyError", "Curve", "DeltaDisclosure", "Groups", "GuaranteeError",
    "InfeasibleError", "KAnonymity", "LDiversity", "OutputError", "PersonShare", "Release",
    "Report", "Schema", "SchemaError", "Style", "TCloseness", "TableError", "Taxonomy",
    "TaxonomyError", "UsageError", "Verdict", "ViolationError", "__version__", "anonymize",
    "attack", "cluster", "combine", "compare", "curve", "inspect", "measure", "method",
    "population_risks", "read_release", "reference", "report_on", "utility", "verify",
}  # fmt: skip

MODULES = {"covey.demo", "covey.html", "covey.methods", "covey.report"}  # public, one level down
METHOD_NAMES = {
    "METHODS", "STOPPED", "EncodedTable", "Groups", "Method", "Progress", "Rings", "method",
}  # fmt: skip

EVERY = "--quiet --verbose -q -v"
FORMAT = (
    "--decimal --delimiter --drop-rows --encoding --header --keep-rows --missing --no-header "
    "--skip --thousands"
)
ROLES = "--quasi --sensitive --identifier --insensitive --drop --rest"
# Each with its arguments and options.
COMMANDS = {
    "inspect": (f"{FORMAT} {ROLES} --force --output --taxonomies -k -o table"),
    "anonymize": (
        f"{FORMAT} {ROLES} --accept --accept-minimality --after "
        "--alpha --beta --budget --certificate --class-column --costs --count-rows --curve "
        "--delta --dry-run --effort --engine --follow --formulas --json --keep-order --key "
        "--limit-share --low-high --max-suppressed --method --no-description --no-register "
        "--objective --only-new --option --output --part-rows --person --price --purpose "
        "--recipient --refine --refuse-composition --register --replace --report --reserve "
        "--responsible --resume --schema --seed --shrunk --title --utility --value-sets -O -k -l "
        "-o -s -t table"
    ),
    "releases": "--accept-loss --check --json --key --people --register",
    "forget": "--key --register ids",
    "verify": (
        f"{FORMAT} {ROLES} "
        "--alpha --beta --certificate --count-rows --delta --json --limit-share --person "
        "--population --schema -k -l -s -t table"
    ),
    "measure": (f"{FORMAT} --class-column --json --queries --schema -k -s original released"),
    "report": (
        f"{FORMAT} --accept "
        "--alpha --beta --class-column --count-rows --curve --delta --limit-share --output "
        "--person --purpose --recipient --responsible --schema --title --utility -k -l -o -s -t "
        "original released"
    ),
    "compare": (
        f"{FORMAT} "
        "--alpha --beta --class-column --count-rows --delta --json --limit-share --methods "
        "--output --person --schema --seed --workload -k -l -o -s -t table"
    ),
    "curve": (
        f"{FORMAT} {ROLES} "
        "--class-column --count-rows --json --limit-share --method --option --output --person "
        "--schema --seed -O -k -o -s table"
    ),
    "attack": (
        "--at-most --control --json --original --output --population --register --schema --seed "
        "--trials -k -o -s released"
    ),
    "utility": "--draws --json --original --schema --seed --use -s released",
    "read": "--as --output --schema --seed -n -o -s released",
    "studio": "--no-browser --port table",
    "methods": "--bibtex --json",
    "demo": "--output --rows -k -o",
    "experiment": "--adult --census --download --ipums --output --quick -o names",
}


KERNELS = "covey._core.kernels"


def loaded_after(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after running `code`."""
    tell = "import sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{tell}"], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_public_names_are_these() -> None:
    assert set(covey.__all__) == PUBLIC
    assert set(dir(covey)) == PUBLIC
    assert set(methods.__all__) == METHOD_NAMES
    for name in PUBLIC:
        assert getattr(covey, name) is not None
    with pytest.raises(AttributeError, match="nope"):
        covey.nope  # noqa: B018


def names_of_covey(source: str) -> Iterator[str]:
    """What a module takes from covey, `covey.errors` for a module within."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.startswith("covey."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("covey."):
            yield node.module or ""
        elif isinstance(node, ast.ImportFrom) and node.module == "covey":
            yield from (a.name for a in node.names)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "covey":
            yield node.attr


def test_the_papers_figures_use_public_names_alone() -> None:
    taken = "import covey.a\nfrom covey.b import c\nfrom covey import d\ncovey.e.f"
    assert set(names_of_covey(taken)) == {"covey.a", "covey.b", "d", "e"}
    modules = sorted(Path(covey_experiments.__path__[0]).rglob("*.py"))
    assert len(modules) > 5
    for module in modules:
        names = set(names_of_covey(module.read_text(encoding="utf-8")))
        hidden = names - PUBLIC - MODULES - {name.removeprefix("covey.") for name in MODULES}
        assert not hidden, (module.name, hidden)


def test_the_commands_and_their_options_are_these() -> None:
    group = typer.main.get_command(app)
    found = {
        name: {
            spelled
            for option in command.params
            for spelled in (
                [option.name]
                if option.param_type_name == "argument"
                else [*option.opts, *option.secondary_opts]
            )
        }
        for name, command in group.commands.items()  # type: ignore[attr-defined]
    }
    assert found == {name: {*words.split(), *EVERY.split()} for name, words in COMMANDS.items()}


def test_importing_covey_or_its_command_line_loads_nothing_heavy() -> None:
    heavy = {"numpy", "polars", "pandas", "pyarrow", "pydantic", KERNELS}
    assert not loaded_after("import covey") & heavy
    assert not loaded_after("import covey.cli.main") & heavy


@pytest.mark.slow
def test_the_verifier_loads_no_compiled_code() -> None:
    assert KERNELS not in loaded_after("import covey; covey.verify")
    assert KERNELS in loaded_after("import covey; covey.METHODS")


def test_errors_form_one_tree() -> None:
    errors = [getattr(covey, name) for name in PUBLIC if name.endswith("Error")]
    assert all(issubclass(error, covey.CoveyError) for error in errors)
    assert issubclass(covey.UsageError, ValueError)
