"""The User-Agent that makes every request self-describing, so that a recording can judge every promise.

    fleet/0.1.0 m=<member> e=<member epoch> s=<range> k=<key> u=<uid> c=<cache version> r=<reason>

Fields that do not apply are left out. Values are percent-encoded where they hold a space or a per cent sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote

_SAFE = "/:@-._~+,"
_LETTERS = {"member": "m", "epoch": "e", "range": "s", "key": "k", "uid": "u", "cache": "c", "reason": "r"}


@dataclass(frozen=True, slots=True)
class UserAgent:
    """Who asks, for which key, on what view. epoch: member epoch as text. range: str(KeyRange). key: namespace/name."""

    product: str = "fleet/0"
    member: str = ""
    epoch: str = ""
    range: str = ""
    key: str = ""
    uid: str = ""
    cache: str = ""
    reason: str = ""

    def __str__(self) -> str:
        fields = ((letter, getattr(self, name)) for name, letter in _LETTERS.items())
        return " ".join([self.product, *(f"{letter}={quote(value, safe=_SAFE)}" for letter, value in fields if value)])

    @classmethod
    def parse(cls, text: str) -> UserAgent | None:
        """None where the text was not written by a fleet."""
        product, *parts = text.split(" ")
        if not product.startswith("fleet/"):
            return None
        pairs = dict(part.split("=", 1) for part in parts if "=" in part)
        found = {name: unquote(pairs[letter]) for name, letter in _LETTERS.items() if letter in pairs}
        return cls(product=product, **found)
