"""Sessions of Spark: the one that exists, or one on this machine that leaks nothing."""

import contextlib
import importlib.util
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from covey.declared import declared
from covey.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RETRIES = 4  # of a task; the masters local and local[2] never retry
# Spark keeps rows on the disk between two passes. What it keeps there must be encrypted.
_ENCRYPTED = "spark.io.encryption.enabled"
_OWN = dict(declared(__package__, "sessions.toml")["own"])
UNENCRYPTED = (
    "Spark's files between two passes are not encrypted, and may hold original cells: set "
    f"{_ENCRYPTED} to true, or make sure that no one can read these files"
)


def active() -> "SparkSession | None":
    """The session of this process, if there is one."""
    if importlib.util.find_spec("pyspark") is None:
        raise UsageError("the engine spark needs pyspark: install covey[spark]")
    with quietly():
        from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


@contextlib.contextmanager
def started() -> Iterator["SparkSession"]:
    """A session on this machine. At the end, nothing of it is left."""
    from pyspark.sql import SparkSession

    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        raise UsageError("Spark needs Java 17 or later: install it, or set JAVA_HOME")
    with tempfile.TemporaryDirectory(prefix="covey-", ignore_cleanup_errors=True) as folder:
        master = f"local[{_processors()},{_RETRIES}]"
        builder = SparkSession.Builder().master(master).appName("covey")
        own = {"spark.local.dir": folder, "spark.sql.warehouse.dir": folder}
        for name, value in {**_OWN, **own}.items():
            builder = builder.config(name, value)
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else it takes any python3
        try:
            with quietly():
                session = builder.getOrCreate()
        except Exception:
            raise UsageError(
                "Spark did not start: it needs Java 17 or later. Start a session of your own to "
                "see why"
            ) from None
        try:
            yield session
        finally:
            session.stop()


def _processors() -> int:
    affinity: Any = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Without the warning that Spark does not support the newest pandas, which covey never uses."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        yield


@contextlib.contextmanager
def settings(session: "SparkSession") -> Iterator[None]:
    """Let cells mean the same in every session, and restore its own settings at the end."""
    before = {name: session.conf.get(name) or "" for name in _SAME}
    for name, value in _SAME.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            with contextlib.suppress(Exception):  # Spark may be gone
                session.conf.set(name, old)


_SAME = {"spark.sql.caseSensitive": "true", "spark.sql.session.timeZone": "UTC"}


def is_encrypted(session: "SparkSession") -> bool:
    """Whether Spark encrypts what it keeps on the disk."""
    return session.conf.get(_ENCRYPTED, "false") == "true"
