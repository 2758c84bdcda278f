from __future__ import annotations

import pytest

from tests.unit.shards.ownership.desk import Desk
from tests.unit.shards.world import World


@pytest.fixture
def desk(world: World) -> Desk:
    # Opened by the first act, because fixtures run in real time.
    return Desk(world)
