"""The control plane for tests, which a series of experiments shares: each start of one costs ten seconds."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import chaos
from chaos.targets.target import TargetFailed

Say = Callable[[str], None]


class Planes:
    """A context manager, which ends what it has started. directory: for logs, data and a backup."""

    def __init__(self, directory: Path, say: Say) -> None:
        self.backup = directory / "backup"
        self._directory = directory / "plane"
        self._say = say
        self._stack = ExitStack()
        self._plane: Any = None

    def __enter__(self) -> Planes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        self._plane = None

    def plane(self) -> Any:
        """A `tests.cluster.plane.ControlPlane` that runs, started where it is asked for first. It is found at run time:
        an installed package has no tests beside it, and nothing else needs them. Raises TargetFailed."""
        if self._plane is None:
            sources = str(Path(chaos.__file__).parents[1])
            if sources not in sys.path:
                sys.path.append(
                    sources
                )  # the installed command `fleet` finds the package there, and not what is beside it
            try:
                build = importlib.import_module("tests.cluster.build")
                plane = importlib.import_module("tests.cluster.plane")
            except ModuleNotFoundError as error:
                raise TargetFailed(
                    "the control plane for tests comes with the sources: run this in a checkout, or give --kubeconfig"
                    " of a server that may be broken"
                ) from error
            made = plane.ControlPlane(
                self._directory, binary=build.ensure(self._say), controllers=plane.GARBAGE_COLLECTION
            )
            self._plane = self._stack.enter_context(made)
        return self._plane
