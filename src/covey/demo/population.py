"""The statistics of the invented population, as `population.toml` has them."""

from typing import Any

from covey.declared import declared

POPULATION = declared("covey.demo", "population.toml")
TAXONOMIES: dict[str, dict[str, Any]] = POPULATION["taxonomies"]
