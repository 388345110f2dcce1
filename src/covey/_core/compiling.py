"""Who is told that code is being compiled, which takes seconds and is needed once per machine.

It knows nothing of the compiler, so that it can be loaded before it.
"""

from collections.abc import Callable

_listeners: list[Callable[[], None]] = []


def listen(listener: Callable[[], None]) -> None:
    """From now on, tell this listener, too, whenever a kernel is compiled."""
    _listeners.append(listener)


def announce() -> None:
    """A kernel is about to be compiled."""
    for listener in _listeners:
        listener()
