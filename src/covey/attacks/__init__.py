"""Attacks a release as intruders would, and says how often each of them succeeds."""

from covey.attacks.attacking import attack
from covey.attacks.findings import Attack, Finding
from covey.attacks.knowledge import Attacker

__all__ = ["Attack", "Attacker", "Finding", "attack"]
