"""What the custodian says about a release."""

from dataclasses import dataclass, fields

from covey.errors import UsageError


@dataclass(frozen=True)
class About:
    """What a release is, what it is for, who gets it and who answers for it, as free text.

    `accept` says what points that are still open are left open for.
    """

    title: str | None = None
    purpose: str | None = None
    recipient: str | None = None
    responsible: str | None = None
    accept: str | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            text = getattr(self, each.name)
            if text is not None and (not isinstance(text, str) or not text.strip()):
                raise UsageError(f"the {each.name} of the release must be text")

    def statements(self) -> list[tuple[str, str]]:
        """What is given besides the title: its name and the text."""
        named = (
            ("purpose", self.purpose),
            ("recipient", self.recipient),
            ("responsible person", self.responsible),
            ("open points, accepted", self.accept),
        )
        return [(name, text) for name, text in named if text is not None]
