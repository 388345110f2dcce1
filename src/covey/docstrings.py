"""The text that a function has about itself, also where Python was told to forget it (`-OO`)."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any


def docstring(function: Callable[..., Any]) -> str:
    """The docstring of a function, from its source if need be; empty where there is none."""
    if function.__doc__:
        return inspect.cleandoc(function.__doc__)
    try:
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return ""
    return (ast.get_docstring(node) or "") if isinstance(node, ast.FunctionDef) else ""
