"""Generalise groups to a released table, and read a released table back."""

from covey.encoding import Style
from covey.generalisation.classes import ReleasedClasses
from covey.generalisation.generalise import cells_of, filled_in, generalise, with_cells
from covey.generalisation.originals import Originals
from covey.generalisation.view import ShownColumn, View

__all__ = [
    "Originals",
    "ReleasedClasses",
    "ShownColumn",
    "Style",
    "View",
    "cells_of",
    "filled_in",
    "generalise",
    "with_cells",
]
