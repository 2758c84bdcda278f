"""`settled` does not return while a view shows less than the server has."""

from __future__ import annotations

from typing import Any

import pytest

from fleet.devcluster.faults import Events
from fleet.devcluster.faults.match import Match
from fleet.devcluster.faults.words import Cut, DelayEvents, HideEvents, Refuse, Silence
from shards.testing.cluster import EmbeddedCluster
from shards.testing.running import NotSettled
from tests.unit.shards.testing.test_cluster import CONFIG_MAPS, CRD_FILE, pages, website
from tests.unit.shards.testing.test_running import WEBSITES

pytestmark = pytest.mark.looptime


@pytest.fixture
async def cluster(embedded_cluster: EmbeddedCluster) -> EmbeddedCluster:
    await embedded_cluster.install(CRD_FILE)
    return embedded_cluster


@pytest.mark.parametrize(
    "fault",
    [
        Silence(match=Match(verbs=("watch",), resource=WEBSITES), until_seconds=40),
        Cut(match=Match(verbs=("watch", "list"), resource=WEBSITES), after_bytes=0, until_seconds=40),
        Refuse(match=Match(verbs=("watch", "list"), resource=WEBSITES), status=500, until_seconds=40),
        DelayEvents(match=Match(resource=WEBSITES), seconds=40),
    ],
    ids=lambda fault: type(fault).__name__,
)
async def test_settled_waits_for_a_view_that_does_not_show_everything(cluster: EmbeddedCluster, fault: Any) -> None:
    async with cluster.running(pages()) as controllers:
        await controllers.settled()
        cluster.server.faults.inject(fault)
        await cluster.create(website("a"))
        await controllers.settled(within_seconds=600)
        assert await cluster.get(CONFIG_MAPS, "a") is not None


async def test_settled_names_what_a_view_never_shows(cluster: EmbeddedCluster) -> None:
    cluster.server.faults.inject(HideEvents(match=Match(resource=WEBSITES), events=Events(name="hidden")))
    async with cluster.running(pages()) as controllers:
        await cluster.create(website("hidden"))
        with pytest.raises(
            NotSettled, match=f"the view of {WEBSITES} does not show what the server has of default/hid"
        ):
            await controllers.settled(within_seconds=5)
