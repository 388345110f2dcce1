"""A look at a table before anything is decided: a schema drafted, with its reasons."""

from covey.inspection.draft import inspect

__all__ = ["inspect"]
