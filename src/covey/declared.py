"""Data that modules declare in a TOML file beside them: words, definitions, tables of numbers."""

import tomllib
from importlib.resources import files
from typing import Any


def declared(package: str, name: str) -> dict[str, Any]:
    """What a TOML file in a package declares."""
    return tomllib.loads(files(package).joinpath(name).read_text(encoding="utf-8"))
