"""The hash of the kernels' sources, by which a stale binary is recognised.

The build runs this file to write the hash into the module. Tests compare it with the sources at
hand: `kernels.SOURCES == digest()`.
"""

import hashlib
import sys
from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[3]


def digest(checkout: Path = _CHECKOUT) -> str:
    """The SHA-256 of all C++ sources and of the build file, by name and content."""
    known = hashlib.sha256()
    sources = (checkout / "src" / "covey" / "_core").glob("*.[ch]pp")
    for path in [*sorted(sources), checkout / "CMakeLists.txt"]:
        content = path.read_bytes()
        known.update(f"{path.name} {len(content)}\n".encode() + content)
    return known.hexdigest()


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(
        f'#pragma once\nnamespace covey {{ constexpr const char *SOURCES = "{digest()}"; }}\n',
        encoding="ascii",
    )
