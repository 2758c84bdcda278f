"""Counts the steps of the histories that ran, and tells the sum at the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from shards.testing.server import EmbeddedServer

STEPS = pytest.StashKey[dict[str, int]]()


@pytest.fixture(scope="session")
def steps(pytestconfig: pytest.Config) -> dict[str, int]:
    """Steps with equal answers on both servers, by history."""
    return pytestconfig.stash.setdefault(STEPS, {})


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """The embedded API server with access control, as the real one has it."""
    from fleet.devcluster.serversettings import ServerSettings
    from shards.testing.server import EmbeddedServer

    with EmbeddedServer(tmp_path_factory.mktemp("embedded"), ServerSettings(admin_token="admin")) as server:
        yield server


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    counted = config.stash.get(STEPS, {})
    if counted:
        terminalreporter.write_line(f"contract: {sum(counted.values())} equal steps in {len(counted)} histories")
