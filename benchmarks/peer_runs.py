"""Run one anonymizer once, in its own process and environment.

Each is used as its documentation shows. All get the same folder: `rows.csv`, covey's `schema.toml`,
and a hierarchy in ARX's format for every quasi-identifier, numbers included. The release is written
to `released.csv`; `run.json` has the time and the peak memory of the process. Reading and writing
are not timed.

`benchmarks/peers.py` starts this file with the interpreter of the anonymizer's environment, so it
imports covey only to run covey itself.

Run: python peer_runs.py NAME FOLDER K GIBIBYTES
"""

import json
import platform
import resource
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

SENSITIVE = "salary-class"

# Takes no argument and returns a dataframe with the method `to_csv` of pandas.
Work = Callable[[], Any]


def rows(folder: Path) -> Any:
    """The table as a pandas frame, with text as categories."""
    frame = import_module("pandas").read_csv(folder / "rows.csv")
    words = [name for name in frame.columns if frame[name].dtype.kind not in "if"]
    return frame.astype(dict.fromkeys(words, "category"))


def quasi(frame: Any) -> list[str]:
    return [name for name in frame.columns if name != SENSITIVE]


def anonypy(folder: Path, k: int) -> Work:
    """Mondrian, its only algorithm."""
    frame = rows(folder)
    preserver = import_module("anonypy").Preserver(frame, quasi(frame), SENSITIVE)
    data_frame = import_module("pandas").DataFrame

    def work() -> Any:
        released = data_frame(preserver.anonymize_k_anonymity(k=k))
        return released.assign(**{name: released[name].str[0] for name in quasi(frame)})

    return work


def anonypyx(folder: Path, k: int, algorithm: str, shown: str = "human-readable") -> Work:
    """Mondrian or MDAV-generic."""
    frame = rows(folder)
    anonymiser = import_module("anonypyx").Anonymiser(
        frame,
        k=k,
        algorithm=algorithm,
        feature_columns=quasi(frame),
        sensitive_column=SENSITIVE if SENSITIVE in frame else None,
        generalisation_strategy=shown,
    )
    return lambda: anonymiser.anonymise()


def anjana(folder: Path, k: int, suppression: int) -> Work:
    """Full-domain generalisation along the hierarchies, with some of the rows suppressed."""
    pandas = import_module("pandas")
    frame = pandas.read_csv(folder / "rows.csv")
    names = quasi(frame)
    hierarchies = {
        name: dict(pandas.read_csv(folder / f"{name}.csv", header=None, sep=";")) for name in names
    }
    k_anonymity = import_module("anjana.anonymity").k_anonymity
    return lambda: k_anonymity(frame, [], names, k, suppression, hierarchies)[frame.columns]


def covey(folder: Path, k: int, method: str, **options: str) -> Work:
    """The whole path from a dataframe to a verified release."""
    package = import_module("covey")
    frame = import_module("pandas").read_csv(folder / "rows.csv")
    schema = package.Schema.from_toml(folder / "schema.toml")

    def work(table: Any = frame) -> Any:
        asked = package.KAnonymity(k)
        return package.anonymize(table, schema, require=asked, method=method, **options).table

    work(frame.head(max(1_000, 2 * k)))  # covey loads modules when it first needs them
    return work


RUNS: dict[str, Callable[[Path, int], Work]] = {
    "anonypy": anonypy,
    "anonypyx-mondrian": lambda folder, k: anonypyx(folder, k, "Mondrian"),
    "anonypyx-mdav": lambda folder, k: anonypyx(folder, k, "MDAV-generic"),
    "anonypyx-means": lambda folder, k: anonypyx(folder, k, "MDAV-generic", "microaggregation"),
    "anjana-10": lambda folder, k: anjana(folder, k, 10),
    "anjana-20": lambda folder, k: anjana(folder, k, 20),
    "anjana-50": lambda folder, k: anjana(folder, k, 50),
}


def find_run(name: str) -> Callable[[Path, int], Work]:
    if name.startswith("covey-"):
        method, _, effort = name.removeprefix("covey-").partition(":")
        options = {"effort": effort} if effort else {}
        return lambda folder, k: covey(folder, k, method, **options)
    return RUNS[name]


def peak_mebibytes() -> float:
    """The peak memory of this process."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    # On Linux, the other figure includes the memory of the parent process.
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return int(lines["VmHWM"].split()[0]) / 2**10


def main() -> None:
    name, folder, k, gibibytes = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    most = int(float(gibibytes) * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    work = find_run(name)(folder, k)
    began, worked = time.perf_counter(), time.process_time()
    released = work()
    seconds, cpu = time.perf_counter() - began, time.process_time() - worked
    mebibytes = peak_mebibytes()
    released.to_csv(folder / "released.csv", index=False)
    about = {
        "seconds": seconds,
        "cpu": cpu,
        "mebibytes": mebibytes,
        "python": platform.python_version(),
        "version": version(name.partition("-")[0]),
        "pandas": version("pandas"),
    }
    (folder / "run.json").write_text(json.dumps(about))


if __name__ == "__main__":
    main()
