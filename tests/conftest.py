from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The first call of a kernel compiles it, so no example has a deadline.
settings.register_profile(
    "covey",
    deadline=None,
    max_examples=100,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("covey")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real tables, which lie beside the checkout where there are any."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the folder with real tables, ../shared/data, is not here")
    return folder
