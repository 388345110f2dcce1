"""The one place that knows the compiler."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile on first use, keep the result on disk, and let other threads run meanwhile.

    Floats are added in the order written (no `fastmath`): equal losses must be equal to the last
    bit in every build, or ties would fall differently.
    """
    return cast(F, numba.njit(cache=True, nogil=True)(function))
