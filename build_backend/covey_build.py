"""The build backend: scikit-build-core, and a C++ compiler also where the system has none.

Without a compiler on the path, `ziglang` from the package index compiles: it is a package like any
other and needs nothing but itself. Run as a program, this file prints what a build needs, one
requirement a line.
"""

import contextlib
import importlib.util
import os
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

COMPILERS = ("c++", "g++", "clang++")
ZIG = "ziglang>=0.13"

Config = dict[str, list[str] | str] | None


def has_compiler() -> bool:
    """Whether the system has a C++ compiler."""
    named = os.environ.get("CXX")
    return any(shutil.which(name) for name in ([named] if named else COMPILERS))


def _more() -> list[str]:
    return [] if has_compiler() else [ZIG]


def get_requires_for_build_wheel(config: Config = None) -> list[str]:
    """What a build needs besides this backend's own requirements."""
    from scikit_build_core import build

    return [*build.get_requires_for_build_wheel(config), *_more()]


def get_requires_for_build_editable(config: Config = None) -> list[str]:
    """What an editable build needs besides this backend's own requirements."""
    from scikit_build_core import build

    return [*build.get_requires_for_build_editable(config), *_more()]


def build_wheel(directory: str, config: Config = None, metadata: str | None = None) -> str:
    """Compile the core and pack the wheel."""
    from scikit_build_core import build

    with _compiler():
        return build.build_wheel(directory, config, metadata)


def build_editable(directory: str, config: Config = None, metadata: str | None = None) -> str:
    """Compile the core for a checkout."""
    from scikit_build_core import build

    with _compiler():
        return build.build_editable(directory, config, metadata)


def build_sdist(directory: str, config: Config = None) -> str:
    """Pack the sources."""
    from scikit_build_core import build

    return build.build_sdist(directory, config)


@contextlib.contextmanager
def _compiler() -> Iterator[None]:
    """Make sure that CMake finds a compiler."""
    if has_compiler():
        yield
        return
    if importlib.util.find_spec("ziglang") is None:
        raise SystemExit(
            "covey needs a C++ compiler, and there is none: install one (on Debian and Ubuntu: "
            "apt install g++), or pip install ziglang"
        )
    # CMake wants programs by name, not commands with arguments.
    folder = Path(tempfile.gettempdir()) / f"covey-zig-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        # Its name can be guessed, and what is in it is run.
        raise SystemExit(f"{folder} belongs to someone else: remove it, or set TMPDIR")
    before = dict(os.environ)
    for variable, tool in (("CXX", "c++"), ("AR", "ar"), ("RANLIB", "ranlib")):
        program = folder / tool
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ziglang {tool} "$@"\n')
        program.chmod(0o700)
        os.environ[variable] = str(program)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _needed() -> list[str]:
    project = Path(__file__).parents[1] / "pyproject.toml"
    known: dict[str, Any] = tomllib.loads(project.read_text(encoding="utf-8"))
    return [*known["build-system"]["requires"], *_more()]


if __name__ == "__main__":
    sys.stdout.write("".join(f"{one}\n" for one in _needed()))
