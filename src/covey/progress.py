"""How long work tells how far it has come.

The library never prints. Whoever calls it may hand over a function that is told the name of the
stage and the share of it that is done; what it shows, and whether, is its own affair.
"""

from collections.abc import Callable

Progress = Callable[[str, float], None]


def silent(stage: str, done: float) -> None:
    """Tell nobody."""
