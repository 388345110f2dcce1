"""The statistics of the invented population, as `population.toml` has them."""

import tomllib
from importlib.resources import files
from typing import Any

POPULATION: dict[str, Any] = tomllib.loads(
    files("covey.demo").joinpath("population.toml").read_text(encoding="utf-8")
)
TAXONOMIES: dict[str, dict[str, Any]] = POPULATION["taxonomies"]
