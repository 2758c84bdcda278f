"""Generated histories that once gave different answers, cut down to what matters. Each is played on every run."""

from __future__ import annotations

from tests.contract.generated.operations import Operation

REGRESSIONS: dict[str, list[Operation]] = {}
"""By a name that says what differed."""
