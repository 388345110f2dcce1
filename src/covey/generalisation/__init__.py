"""Groups to a released table, and a released table back to what it says."""

from covey.encoding import Style
from covey.generalisation.generalise import filled_in, generalise
from covey.generalisation.view import ShownColumn, View

__all__ = ["ShownColumn", "Style", "View", "filled_in", "generalise"]
