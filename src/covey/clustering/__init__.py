"""Clustering methods: one module per published method, named as published.

A method is a function `(table, k, *, seed, progress, …) -> Groups`. It sees only the
`EncodedTable`, puts every row into exactly one group of `k` or more, and returns the same labels
for the same seed. To add a method to covey, write its module, its facts in `methods.toml`, and its
entry here. `registry` has the code that all methods share, and loads methods from users and other
packages.
"""

from collections.abc import Callable
from typing import Any

from covey.clustering.cb import cb, diversity_of
from covey.clustering.covey import covey, keep_constraints, refined
from covey.clustering.gaa_cp import gaa_cp
from covey.clustering.ikac import ikac
from covey.clustering.k_member import k_member
from covey.clustering.kaca import kaca
from covey.clustering.kacpc import kacpc
from covey.clustering.mdav import mdav
from covey.clustering.mondrian import mondrian
from covey.clustering.nh import nh
from covey.clustering.oka import oka
from covey.clustering.papers import PAPERS
from covey.clustering.registry import (
    METHODS,
    Method,
    as_method,
    bibliography,
    method,
    method_named,
    refuse_infeasible,
)
from covey.clustering.systematic import systematic
from covey.clustering.wf_c_means import wf_c_means
from covey.declared import declared

__all__ = [
    "METHODS",
    "Method",
    "as_method",
    "bibliography",
    "keep_constraints",
    "method",
    "method_named",
    "refined",
    "refuse_infeasible",
]

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "covey": covey,
    "k-member": k_member,
    "cb": cb,
    "kacpc": kacpc,
    "mondrian": mondrian,
    "mdav": mdav,
    "oka": oka,
    "ikac": ikac,
    "gaa-cp": gaa_cp,
    "kaca": kaca,
    "nh": nh,
    "wf-c-means": wf_c_means,
    "systematic": systematic,
}
_FACTS = declared(__package__, "methods.toml")
for _name, _function in _FUNCTIONS.items():
    METHODS.add(
        Method(
            _name,
            _function,
            summary=_FACTS[_name]["summary"],
            bibtex=PAPERS[_FACTS[_name]["paper"]],
            cost=_FACTS[_name]["cost"],
            specified=_FACTS[_name].get("specified", True),
            paper="covey's own" if _name == "covey" else "",
            alike=_name != "nh",
            keeps_constraints=_name == "covey",
            keeps=diversity_of if _name == "cb" else None,
            is_own=True,
        )
    )
