"""How many examples a property is tried on, and whether they are the same in every run.

The profile is chosen by the environment variable HYPOTHESIS_PROFILE. `covey` is that of `make test`
and `quick` that of `make quick`: the same examples in every run, so that a change is what fails.
Of a test with several cases, `quick` takes the first. `fresh` and `thorough` try others each time,
from a seed that make prints; what fixed examples miss, they find sooner or later.
"""

import os
from typing import NamedTuple

from hypothesis import HealthCheck, settings


class Profile(NamedTuple):
    factor: float  # of the examples that a test asks for
    fixed: bool = False


PROFILES = {
    "quick": Profile(0.1, fixed=True),
    "covey": Profile(0.15, fixed=True),
    "fresh": Profile(0.05),
    "thorough": Profile(5),
}
NAME = os.environ.get("HYPOTHESIS_PROFILE", "covey")
USUAL = 100  # of a test that asks for no number
FEWEST = 5  # so that some are left where a test discards many


def number(asked: int) -> int:
    """How many of the asked examples the profile tries."""
    return max(round(asked * PROFILES[NAME].factor), min(asked, FEWEST))


def examples(asked: int) -> settings:
    """Ask for so many examples: a decorator in the place of `settings`."""
    return settings(max_examples=number(asked))


def load_profile() -> None:
    """Use the profile for all tests."""
    profile = PROFILES[NAME]
    settings.register_profile(
        NAME,
        deadline=None,  # examples differ in size, and machines in speed
        max_examples=number(USUAL),
        derandomize=profile.fixed,
        database=None,  # the seed alone decides
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    settings.load_profile(NAME)
