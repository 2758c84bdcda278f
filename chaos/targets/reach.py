"""What a target has no hold of."""

from __future__ import annotations

from typing import NoReturn

from chaos.targets.target import TargetFailed


def refuse(what: str) -> NoReturn:
    """Raises TargetFailed, in a sentence that begins with what was wanted."""
    raise TargetFailed(f"{what} is out of reach of the API; run this on --target dev or real")
