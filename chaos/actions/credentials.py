"""What can be done to the credential that the pods show to the API server."""

from __future__ import annotations

from typing import Any

from chaos.targets.account import account_of
from chaos.targets.running import RUNNING
from chaos.targets.target import Target


def rotate_token(target: Target = RUNNING) -> dict[str, Any]:
    """Another token lies in the file that the pods read, and the old one is refused."""
    account_of(target).rotate()
    return {}
