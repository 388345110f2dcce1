"""Measure how soon covey studio answers: opening a table, the first curve, a move of k, and pages
while the release is made.

The table is that of `covey demo`, with more columns like its own if asked for. A real server is
asked as a browser asks it. Run: python -m benchmarks.studio [ROWS [COLUMNS [SECONDS]]]
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

from covey import demo

MOVES = (2, 3, 5, 10, 20, 50, 100, 50, 20, 10)
PAGES = ("open", "roles", "price", "make", "make/piece/progress", "static/studio.css")
PATIENCE = 600.0


def invented(path: Path, rows: int, columns: int) -> None:
    """Write the table."""
    people = demo.people(rows)
    own = [name for name in people.columns if name != "name"]
    while len(people.columns) < columns:
        name, turn = own[len(people.columns) % len(own)], len(people.columns)
        # The same cells, one after another: as many values as before, but of other people.
        moved = people[name].slice(turn).append(people[name].head(turn))
        people = people.with_columns(moved.alias(f"{name}_{turn}"))
    people.select(people.columns[:columns]).write_csv(path)


class Studio:
    """A running studio."""

    def __init__(self, table: Path) -> None:
        command = [sys.executable, "-m", "covey", "studio", "--no-browser", str(table)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()

    def ask(self, path: str, **fields: object) -> tuple[float, str]:
        """How long an answer takes, and what it is."""
        data = urlencode(fields).encode() if fields else None
        begun = time.perf_counter()
        try:
            with urlopen(self.address + path, data, timeout=PATIENCE) as answer:
                text = answer.read().decode()
        except HTTPError as error:
            text = error.read().decode()
        return time.perf_counter() - begun, text

    def until(self, holds: Callable[[], bool]) -> float:
        """How long it takes until something holds."""
        begun = time.perf_counter()
        while not holds():
            assert time.perf_counter() - begun < PATIENCE, "it takes too long"
            time.sleep(0.05)
        return time.perf_counter() - begun


def told(what: str, seconds: float, note: str = "") -> None:
    print(f"| {what} | {seconds:.2f} s | {note} |", flush=True)


def measure(studio: Studio, begun: float, seconds: float) -> None:
    """Go the whole way and tell how long each part takes."""
    told("start", time.perf_counter() - begun, "until the address is printed")
    studio.until(lambda: "<h1>" in (page := studio.ask("roles")[1]) and "recognise" in page
                 and "Open a table" not in page)  # fmt: skip
    told("open", time.perf_counter() - begun, "until the roles are shown, from the start")
    begun = time.perf_counter()
    studio.ask("price")
    studio.until(lambda: "<svg" in studio.ask("price/piece/curve")[1])
    told("first curve", time.perf_counter() - begun, "of a few points")
    moves = [studio.ask("price/slide", place=0, ks=str(k))[0] for k in MOVES]
    told("move of k", statistics.median(moves), f"at most {max(moves):.2f} s, of {len(moves)}")
    studio.ask("make/start", x=1)
    answers: dict[str, list[float]] = {path: [] for path in PAGES}
    begun = time.perf_counter()
    while time.perf_counter() - begun < seconds and "Making it" in studio.ask("make")[1]:
        for path, taken in answers.items():
            taken.append(studio.ask(path)[0])
        time.sleep(0.1)
    for path, taken in answers.items():
        if taken:
            note = f"at most {max(taken):.2f} s, of {len(taken)}"
            told(f"{path}, while it is made", statistics.median(taken), note)
    studio.until(lambda: "Making it" not in studio.ask("make")[1])
    told("release", time.perf_counter() - begun, "")


def main() -> None:
    rows, columns, seconds = (
        int(given) for given in (*sys.argv[1:], *("200000", "20", "30")[len(sys.argv) - 1 :])
    )
    with tempfile.TemporaryDirectory() as name:
        table = Path(name) / "people.csv"
        invented(table, rows, columns)
        print(f"{rows:,} rows, {columns} columns, {table.stat().st_size / 2**20:.0f} MiB of CSV\n")
        print("| what | seconds | |\n|---|---|---|")
        begun = time.perf_counter()
        studio = Studio(table)
        try:
            measure(studio, begun, seconds)
        finally:
            studio.process.terminate()
            studio.process.wait()


if __name__ == "__main__":
    main()
