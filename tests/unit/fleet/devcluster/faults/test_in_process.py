"""Every fault at a client in the same process, in virtual time."""

from __future__ import annotations

import random

import pytest

from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.server import ApiServer
from shards.api.client import Client
from tests.unit.fleet.devcluster.faults.bench import Bench
from tests.unit.fleet.devcluster.faults.scenes import SCENES, Scene

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: str(scene.__name__))
async def test_a_client_in_process_sees_that(scene: Scene) -> None:
    server = ApiServer(rng=random.Random(1))
    transport = InProcessTransport(server)
    await scene(Bench(transport, server.faults, Client(transport, user_agent="by hand")))
