"""What was promised, what was found, what it cost: numbers and column names, never cells."""

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from covey.loss import DEFINITIONS, Losses
from covey.verification import Verdict

LIMITS = (
    "k-anonymity keeps a person from being linked to fewer than k rows by the quasi-identifiers "
    "named here. It does not hide a sensitive value that all rows of a class share, does not "
    "protect columns that were not named as quasi-identifiers, and may be weakened by what else is "
    "known or by other releases of the same table."
)


@dataclass(frozen=True)
class Rows:
    """Where the rows went."""

    read: int
    dropped: int  # by the missing-value policy drop-row
    suppressed: int
    released: int


@dataclass(frozen=True)
class Output:
    """The released bytes."""

    format: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Report:
    """A release in numbers."""

    version: str
    rows: Rows
    verdict: Verdict
    losses: Losses
    method: str
    options: dict[str, Any]
    order: str
    configuration: dict[str, Any]
    warnings: tuple[str, ...]
    seconds: dict[str, float]
    output: Output | None = None
    limits: str = LIMITS

    def with_output(self, output: Output) -> "Report":
        """The same report, of a release that has been written."""
        return replace(self, output=output)

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries and lists, as the JSON report has them."""
        return {
            "covey": self.version,
            "rows": asdict(self.rows),
            "verdict": self.verdict.to_dict(),
            "loss": self.losses.to_dict(),
            "definitions": DEFINITIONS,
            "method": {"name": self.method, "options": self.options},
            "order": self.order,
            "configuration": self.configuration,
            "warnings": list(self.warnings),
            "limits": self.limits,
            "seconds": {stage: round(time, 3) for stage, time in self.seconds.items()},
            "output": asdict(self.output) if self.output else None,
        }

    def to_json(self) -> str:
        """The report as text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, default=str) + "\n"
