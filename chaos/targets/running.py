"""The target of the experiment that is running: for functions that somebody else's runner calls.

Our own runner passes the target as an argument. chaostoolkit knows nothing of targets: there a control
(`chaos.toolkit`) says which one it is, and the default of the argument leads there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from chaos.targets.target import Target, TargetFailed


class _Running:
    """Stands for whatever target is running when it is asked for something."""

    def __init__(self) -> None:
        self._target: Target | None = None

    @contextmanager
    def on(self, target: Target) -> Iterator[None]:
        """It is this one within."""
        before, self._target = self._target, target
        try:
            yield
        finally:
            self._target = before

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by those who look at the function, not by the function
            raise AttributeError(name)
        if self._target is None:
            raise TargetFailed("no experiment is running: there is no fleet to do this to")
        return getattr(self._target, name)


NOW = _Running()
RUNNING = cast("Target", NOW)
"""The default of the parameter `target` of actions and probes."""
