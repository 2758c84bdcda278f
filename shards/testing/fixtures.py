"""Fixtures for your own tests. In your conftest.py:

pytest_plugins = ["shards.testing.fixtures"]
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shards.testing.cluster import EmbeddedCluster
from shards.testing.server import EmbeddedServer


@pytest.fixture
def embedded_cluster() -> Iterator[EmbeddedCluster]:
    """An API server in this process, for controllers and clients of this project; fresh for every test.

    With `@pytest.mark.looptime` (package looptime) an hour of waiting takes no time.
    """
    cluster = EmbeddedCluster()
    yield cluster
    cluster.close()


@pytest.fixture
def embedded_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """The same server behind HTTP on loopback, for any client: `.url` and `.kubeconfig`; fresh for every test."""
    with EmbeddedServer(tmp_path_factory.mktemp("embedded-server")) as server:
        yield server
