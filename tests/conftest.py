"""Servers that tests share: one of each kind a session, started when the first test asks for it.

`real_cluster` and `real_cluster_unsharded` never skip: where they cannot be built or started, the run fails.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from shards.testing.server import EmbeddedServer
    from tests.cluster.plane import ControlPlane

asyncio.set_event_loop(None)
"""looptime asks the policy for a loop in tests that have none; told that there is none, it makes none to leak."""

settings.register_profile("shared machine", deadline=None)
settings.load_profile("shared machine")
"""No example has a time limit: a machine that is busy with other work makes no property untrue."""

pytest_plugins = ["shards.testing.fixtures"]

REAL = frozenset({"real_cluster", "real_cluster_unsharded", "real_kubeconfig", "cluster_binary"})
"""Fixtures that need the binary of the test cluster."""
HERE = Path(__file__).parent
BY_DIRECTORY = {"contract": pytest.mark.contract, "integration": pytest.mark.integration}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests by their directory, and `real` those that use a real server."""
    for item in items:
        directory = item.path.relative_to(HERE).parts[0] if item.path.is_relative_to(HERE) else ""
        if directory in BY_DIRECTORY:
            item.add_marker(BY_DIRECTORY[directory])
        if isinstance(item, pytest.Function) and REAL & set(item.fixturenames):
            item.add_marker(pytest.mark.real)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Builds the test cluster before the first test, outside every test's time limit, and shows how far it is."""
    if session.config.option.collectonly or not any(item.get_closest_marker("real") for item in session.items):
        return
    from tests.cluster.build import ensure
    from tests.cluster.gobuild import BuildFailed

    capture = session.config.pluginmanager.getplugin("capturemanager")
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    assert capture is not None
    assert reporter is not None
    with capture.global_and_fixture_disabled():
        try:
            ensure(reporter.write_line)
        except BuildFailed as failure:
            pytest.exit(f"the test cluster cannot be built: {failure}", returncode=pytest.ExitCode.INTERNAL_ERROR)


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """The embedded API server over HTTP, with a recorder in front and access control as on a real cluster."""
    from fleet.devcluster.serversettings import ServerSettings
    from shards.testing.server import EmbeddedServer

    with EmbeddedServer(tmp_path_factory.mktemp("embedded"), ServerSettings(admin_token="admin")) as server:
        yield server


@pytest.fixture(scope="session")
def cluster_binary() -> Path:
    """The test cluster's executable, for tests that start servers of their own. Built before the first test."""
    from tests.cluster.build import ensure

    return ensure(print)


@pytest.fixture(scope="session")
def real_cluster(cluster_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A real API server with server-side sharding, and the controllers that collect garbage."""
    from tests.cluster.plane import GARBAGE_COLLECTION, ControlPlane

    directory = tmp_path_factory.mktemp("cluster")
    with ControlPlane(directory, binary=cluster_binary, controllers=GARBAGE_COLLECTION) as plane:
        yield plane


@pytest.fixture(scope="session")
def real_kubeconfig(request: pytest.FixtureRequest) -> Path:
    """Of a real API server with server-side sharding and garbage collection.

    `$REAL_KUBECONFIG` names one that runs already, which saves the ten seconds of a start while tests are written.
    """
    given = os.environ.get("REAL_KUBECONFIG")
    return Path(given) if given else Path(request.getfixturevalue("real_cluster").kubeconfig)


@pytest.fixture(scope="session")
def real_cluster_unsharded(cluster_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A real API server as today's clusters run it: it ignores `shardSelector`. Its own etcd; no controllers."""
    from tests.cluster.plane import ControlPlane

    with ControlPlane(tmp_path_factory.mktemp("unsharded"), binary=cluster_binary, sharded=False) as plane:
        yield plane
