"""The session of Spark that tests of engines share."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

# Java is to compile at once what it runs for a minute, and not to optimise it for hours.
BRIEFLY = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SUMS = 2  # tasks that add up: more would take longer, and add up the same


@pytest.fixture(scope="package")
def session() -> Iterator[Any]:
    """One session for all tests: Spark takes seconds to start."""
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not installed")
    from covey.engines import sessions, spark

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_SUBMIT_OPTS", BRIEFLY)
        patch.setattr(spark, "_SUMS", SUMS)
        with sessions.started() as found:
            yield found
