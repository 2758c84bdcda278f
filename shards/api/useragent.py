"""The User-Agent that makes every request self-describing, so that a recording can judge every promise.

    fleet/0.1.0 m=<member> e=<member epoch> s=<range> k=<key> u=<uid> c=<cache version> r=<reason>

Fields that do not apply are left out. Values are percent-encoded where they hold a space or a per cent sign.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

_SAFE = "/:@-._~+,"
_PLAIN = re.compile(rf"[A-Za-z0-9_{re.escape(_SAFE)}]*", re.ASCII)
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
        fields = {name: getattr(self, name) for name in _LETTERS}
        return f"{self.product} {words(**fields)}".rstrip()

    @classmethod
    def parse(cls, text: str) -> UserAgent | None:
        """None where the text was not written by a fleet."""
        product, *parts = text.split(" ")
        if not product.startswith("fleet/"):
            return None
        pairs = dict(part.split("=", 1) for part in parts if "=" in part)
        found = {name: unquote(pairs[letter]) for name, letter in _LETTERS.items() if letter in pairs}
        return cls(product=product, **found)


def words(**fields: str) -> str:
    """The fields in the order in which they are given, without those that are empty. By the names of UserAgent."""
    return " ".join([f"{_LETTERS[name]}={_quoted(value)}" for name, value in fields.items() if value])


def _quoted(value: str) -> str:
    # Almost nothing needs it, and to find that out costs a tenth of quoting.
    return value if _PLAIN.fullmatch(value) else quote(value, safe=_SAFE)
