"""For authors of methods: what a method is given, returns and reports; see docs/extending.md."""

from covey.clustering import METHODS, Method, method
from covey.clustering.progress import STOPPED, Progress
from covey.encoding import EncodedTable
from covey.encoding.groups import Groups, Rings

__all__ = ["METHODS", "STOPPED", "EncodedTable", "Groups", "Method", "Progress", "Rings", "method"]
