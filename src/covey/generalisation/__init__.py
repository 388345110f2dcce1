"""Generalise groups to a released table, and read a released table back."""

from covey.encoding import Style
from covey.generalisation.behind import Behind
from covey.generalisation.classes import ReleasedClasses
from covey.generalisation.generalise import beside, cells_of, filled_in, generalise
from covey.generalisation.view import ShownColumn, View

__all__ = [
    "Behind",
    "ReleasedClasses",
    "ShownColumn",
    "Style",
    "View",
    "beside",
    "cells_of",
    "filled_in",
    "generalise",
]
