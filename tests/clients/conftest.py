"""The table of peers, told at the end of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from shards.testing.server import EmbeddedServer
    from tests.clients.peers import Done

Table = list[tuple[str, "Done", "Done", bool]]
"""Peer, what it did on the embedded and on the real server, whether it left the same."""
TABLE = pytest.StashKey[Table]()


@pytest.fixture(scope="session")
def peer_table(pytestconfig: pytest.Config) -> Table:
    return pytestconfig.stash.setdefault(TABLE, [])


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """The embedded API server without access control: clients written in Go send no token without TLS."""
    from shards.testing.server import EmbeddedServer

    with EmbeddedServer(tmp_path_factory.mktemp("embedded")) as server:
        yield server


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    rows = config.stash.get(TABLE, [])
    if not rows:
        return
    terminalreporter.write_line("peer              widgets   writes embedded/real   seconds embedded/real   same state")
    for peer, ours, theirs, equal in rows:
        writes, seconds = f"{ours.writes}/{theirs.writes}", f"{ours.seconds:.1f}/{theirs.seconds:.1f}"
        terminalreporter.write_line(
            f"{peer:16}  {ours.widgets:7}   {writes:>20}   {seconds:>21}   {'yes' if equal else 'NO'}"
        )
