from __future__ import annotations

import random

import pytest

from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.server import ApiServer
from shards.api.client import Client
from tests.unit.fleet.devcluster.faults.bench import Bench


@pytest.fixture
def recorder() -> Recorder:
    return Recorder(clock=lambda: 0.0)


@pytest.fixture
def server(recorder: Recorder) -> ApiServer:
    return ApiServer(rng=random.Random(1), recorder=recorder)


@pytest.fixture
def bench(server: ApiServer) -> Bench:
    transport = InProcessTransport(server)
    return Bench(transport, server.faults, Client(transport, user_agent="by hand"))
