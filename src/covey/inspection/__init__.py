"""Inspection of a table before any decision: a draft of a schema, with reasons."""

from covey.inspection.draft import inspect

__all__ = ["inspect"]
