"""Make tables of people safer to publish.

>>> import covey
>>> schema = covey.Schema.of(quasi={"age": "numeric", "sex": "categorical"}, sensitive=["disease"])
>>> release = covey.anonymize(frame, schema, require=[covey.KAnonymity(10)])  # doctest: +SKIP
>>> release.write("released.csv")  # doctest: +SKIP

Importing covey is cheap: every name is loaded on first use. What fewer people need is in modules of
its own: `covey.methods` (to write a method), `covey.report.charts`, `covey.html` and `covey.demo`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covey import reference
    from covey.attacks import Attack, attack
    from covey.clustering import METHODS, method
    from covey.encoding.groups import Groups
    from covey.errors import (
        CoveyError,
        GuaranteeError,
        InfeasibleError,
        OutputError,
        SchemaError,
        TableError,
        TaxonomyError,
        UsageError,
        ViolationError,
    )
    from covey.generalisation import Style
    from covey.inspection import inspect
    from covey.measures.rubin import combine
    from covey.pipeline import anonymize, cluster, measure, report_on
    from covey.reading import read_release, utility
    from covey.release import Release
    from covey.report import About, Report
    from covey.schema import Column, Schema
    from covey.schema.requirements import (
        AlphaK,
        BetaLikeness,
        DeltaDisclosure,
        KAnonymity,
        LDiversity,
        PersonShare,
        TCloseness,
    )
    from covey.schema.taxonomy import Taxonomy
    from covey.studies.comparison import Comparison, compare
    from covey.studies.curves import Curve, curve
    from covey.verification import Verdict, verify
    from covey.verification.population import population_risks

    __version__: str

__all__ = [
    "METHODS",
    "About",
    "AlphaK",
    "Attack",
    "BetaLikeness",
    "Column",
    "Comparison",
    "CoveyError",
    "Curve",
    "DeltaDisclosure",
    "Groups",
    "GuaranteeError",
    "InfeasibleError",
    "KAnonymity",
    "LDiversity",
    "OutputError",
    "PersonShare",
    "Release",
    "Report",
    "Schema",
    "SchemaError",
    "Style",
    "TCloseness",
    "TableError",
    "Taxonomy",
    "TaxonomyError",
    "UsageError",
    "Verdict",
    "ViolationError",
    "__version__",
    "anonymize",
    "attack",
    "cluster",
    "combine",
    "compare",
    "curve",
    "inspect",
    "measure",
    "method",
    "population_risks",
    "read_release",
    "reference",
    "report_on",
    "utility",
    "verify",
]

_HOMES = {
    "attacks": ("Attack", "attack"),
    "clustering": ("METHODS", "method"),
    "studies.comparison": ("Comparison", "compare"),
    "studies.curves": ("Curve", "curve"),
    "errors": tuple(name for name in __all__ if name.endswith("Error")),
    "generalisation": ("Style",),
    "encoding.groups": ("Groups",),
    "inspection": ("inspect",),
    "measures.rubin": ("combine",),
    "pipeline": ("anonymize", "cluster", "measure", "report_on"),
    "reading": ("read_release", "utility"),
    "release": ("Release",),
    "report": ("About", "Report"),
    "schema.requirements": (
        "AlphaK",
        "BetaLikeness",
        "DeltaDisclosure",
        "KAnonymity",
        "LDiversity",
        "PersonShare",
        "TCloseness",
    ),
    "verification.population": ("population_risks",),
    "schema": ("Column", "Schema"),
    "schema.taxonomy": ("Taxonomy",),
    "verification": ("Verdict", "verify"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    value: Any
    if name == "__version__":
        from importlib.metadata import version  # as costly as all the rest of importing covey

        value = version("covey")
    elif name == "reference":
        value = import_module("covey.reference")
    elif name in _HOME_OF:
        value = getattr(import_module(f"covey.{_HOME_OF[name]}"), name)
    else:
        raise AttributeError(f"module 'covey' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
