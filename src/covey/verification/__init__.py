"""The independent check: it judges a table by its cells, whoever made it."""

from covey.verification.verdict import Check, Risks, Verdict, verify

__all__ = ["Check", "Risks", "Verdict", "verify"]
