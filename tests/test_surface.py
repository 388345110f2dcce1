"""What covey shows, and what it does not load before it is needed."""

import json
import subprocess
import sys

import pytest

import covey

PUBLIC = {
    "METHODS", "AlphaK", "BetaLikeness", "Column", "Comparison", "CoveyError", "Curve",
    "DeltaDisclosure", "Groups", "GuaranteeError", "InfeasibleError", "KAnonymity", "LDiversity",
    "OutputError", "Release", "Report", "Schema", "SchemaError", "Style", "TCloseness",
    "TableError", "Taxonomy", "TaxonomyError", "UsageError", "Verdict", "ViolationError",
    "anonymize", "cluster", "compare", "curve", "inspect", "measure", "population_risks",
    "report_on", "verify",
}  # fmt: skip


def loaded_after(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after running `code`."""
    tell = "import sys, json; print(json.dumps(sorted({m.split('.')[0] for m in sys.modules})))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{tell}"], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_public_names_are_these() -> None:
    assert set(covey.__all__) == PUBLIC
    assert set(dir(covey)) == PUBLIC
    for name in PUBLIC:
        assert getattr(covey, name) is not None
    with pytest.raises(AttributeError, match="nope"):
        covey.nope  # noqa: B018


def test_importing_covey_or_its_command_line_loads_nothing_heavy() -> None:
    heavy = {"numpy", "polars", "numba", "pandas", "pyarrow", "pydantic"}
    assert not loaded_after("import covey") & heavy
    assert not loaded_after("import covey.cli") & heavy


def test_the_compiler_is_loaded_for_clustering_alone() -> None:
    judge = "import covey; covey.verify; covey.measure; covey.anonymize; covey.METHODS"
    assert "numba" not in loaded_after(judge)


def test_errors_form_one_tree() -> None:
    errors = [getattr(covey, name) for name in PUBLIC if name.endswith("Error")]
    assert all(issubclass(error, covey.CoveyError) for error in errors)
    assert issubclass(covey.UsageError, ValueError)
