"""The independent verifier: it judges any table by its cells alone."""

from covey.verification.verdict import Check, Risks, Verdict
from covey.verification.verifying import verify

__all__ = ["Check", "Risks", "Verdict", "verify"]
