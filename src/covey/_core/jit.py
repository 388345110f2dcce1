"""The one place that knows the compiler."""

import contextlib
from collections.abc import Callable
from functools import partial
from typing import TypeVar, cast

import numba
from numba.core import event

from covey._core import compiling

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile on first use, keep the result on disk, and let other threads run meanwhile.

    Floats are added in the order written (no `fastmath`): equal losses must be equal to the last
    bit in every build, or ties would fall differently.
    """
    try:
        made = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # neither beside the source nor at the user's home is there any place
        return cast(F, numba.njit(nogil=True)(function))
    if cache := getattr(made, "_cache", None):
        # A disk that is full, or has become read-only: then it is compiled anew every time.
        cache._guard_against_spurious_io_errors = partial(contextlib.suppress, OSError)
    return cast(F, made)


class _Announcer(event.Listener):
    """Hears of every kernel that is not found on disk."""

    def on_start(self, event: object) -> None:  # noqa: ARG002
        compiling.announce()

    def on_end(self, event: object) -> None:
        pass


event.register("numba:compile", _Announcer())  # type: ignore[no-untyped-call]
