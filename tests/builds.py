"""Which build of the kernels the tests run on.

Usually it is the installed one. The environment variable COVEY_KERNELS names a folder with another
one: `make sanitize` has a build that checks every address.
"""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

import covey._core
from covey._core import sources

CHECKOUT = Path(__file__).resolve().parents[1]
NAME = "covey._core.kernels"


def use_asked() -> None:
    """Put the build that is asked for in the place of the installed one, before it is loaded."""
    folder = os.environ.get("COVEY_KERNELS")
    if not folder:
        return
    assert NAME not in sys.modules, "the installed kernels are loaded already"
    (file,) = Path(folder).glob("kernels*.so")
    spec = importlib.util.spec_from_file_location(NAME, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    spec.loader.exec_module(module)
    covey._core.kernels = module


def refuse_stale() -> None:
    """Refuse kernels that were built from other sources than those of this checkout."""
    from covey._core import kernels

    if sources.digest(CHECKOUT) != kernels.SOURCES:
        raise pytest.UsageError(
            f"{kernels.__file__} was built from other sources than those here: run `make install`"
        )
