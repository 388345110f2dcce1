"""Authenticated encryption of all that custody stores: AES-256-GCM of the library `cryptography`.

A nonce is 96 random bits: a key may seal up to 2³² pieces, of which two have the same nonce with a
chance below 2⁻³² (NIST SP 800-38D). Each working file and each entry of a register has its own key.
"""

import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE, TAG = 12, 16  # bytes


class ForgedError(Exception):
    """What was sealed has changed, or was sealed under another key or for another place."""


class Aead:
    """Seals pieces of data under one key; `place` says which piece it is, and is not stored."""

    def __init__(self, secret: bytes) -> None:
        self._cipher = AESGCM(secret)

    def seal(self, data: bytes | memoryview, place: bytes) -> bytes:
        """A new nonce, the encrypted data and the tag."""
        nonce = secrets.token_bytes(NONCE)
        return nonce + self._cipher.encrypt(nonce, data, place)

    def open(self, sealed: bytes | memoryview, place: bytes) -> bytes:
        """The data; refuse what was not sealed for this place."""
        view = memoryview(sealed)
        try:
            return self._cipher.decrypt(view[:NONCE], view[NONCE:], place)
        except (InvalidTag, ValueError):
            raise ForgedError from None
