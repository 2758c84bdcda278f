"""Letting quarantined keys run again, against a server."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from fleet.backends.quarantine_document import change_quarantine
from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.faults import Match
from fleet.devcluster.faults.words import Refuse
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from fleet.orders import OrderFailed, coordination_of
from fleet.records.object_names import Names
from fleet.records.quarantine import Quarantine, QuarantineEntry
from fleet.release import release_keys
from fleet.status.status_reader import StatusReader
from fleet.status.statusview import FleetStatus
from shards.api.client import Client
from shards.errors import ConfigError
from shards.objects import Key, Resource
from shards.queue.suspects import DEATHS
from shards.testing.virtual_time import loop_seconds

pytestmark = pytest.mark.looptime

NAMES = Names("web", "default")
CONFIG_MAPS = Resource.parse("v1/configmaps")


class Fleet:
    """Its documents on a server, and nothing else."""

    def __init__(self) -> None:
        self.server = ApiServer(ServerSettings(), rng=random.Random(1), wall_seconds=lambda: 1.0e9)
        self.transport = InProcessTransport(self.server, clock=loop_seconds)

    async def died(self, name: str, times: int, *, controller: str = "sites", namespace: str = "default") -> None:
        seen = QuarantineEntry(controller, Key(namespace, name, f"uid-{name}"), last=1_764_500_000, ended="SIGSEGV")

        def more(found: Quarantine) -> Quarantine:
            for _ in range(times):
                found = found.died(seen)
            return found

        await change_quarantine(coordination_of(self.transport, NAMES, "test"), more, Quarantine())

    async def deaths(self) -> dict[str, int]:
        changed = await change_quarantine(
            coordination_of(self.transport, NAMES, "test"), lambda found: found, Quarantine()
        )
        return {f"{controller} {key}": deaths for (controller, key), deaths in changed.after.deaths.items()}

    async def release(self, key: str = "", controller: str = "") -> str:
        return await release_keys(self.transport, NAMES, key, controller)

    async def status(self) -> FleetStatus:
        return await StatusReader(Client(self.transport), NAMES, today=lambda: 1_764_500_100.0).read()


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    made = Fleet()
    yield made
    made.server.close()


async def test_a_key_that_is_released_has_one_death_left_and_others_stay(fleet: Fleet) -> None:
    await fleet.died("a", DEATHS)
    await fleet.died("b", DEATHS)
    told = await fleet.release("default/a")
    assert told == "sites default/a runs again, alone, and has one death left: one more death puts it back"
    assert await fleet.deaths() == {"sites default/a": DEATHS - 1, "sites default/b": DEATHS}


async def test_all_of_them_at_once_but_no_suspect(fleet: Fleet) -> None:
    await fleet.died("a", DEATHS)
    await fleet.died("root", DEATHS, namespace="")
    await fleet.died("s", 1)
    told = await fleet.release()
    assert told.startswith("sites default/a, sites root run again, alone, and have one death left")
    assert await fleet.deaths() == {"sites default/a": 2, "sites root": 2, "sites default/s": 1}


async def test_only_those_of_a_controller(fleet: Fleet) -> None:
    await fleet.died("a", DEATHS)
    await fleet.died("a", DEATHS, controller="jobs")
    await fleet.release("default/a", "jobs")
    assert await fleet.deaths() == {"sites default/a": DEATHS, "jobs default/a": DEATHS - 1}


async def test_a_key_that_is_not_there_is_named_with_those_that_are(fleet: Fleet) -> None:
    await fleet.died("a", DEATHS)
    await fleet.died("s", 1)
    with pytest.raises(ConfigError, match=r"default/s is not quarantined; those that are: sites default/a"):
        await fleet.release("default/s")
    with pytest.raises(ConfigError, match=r"no key of jobs is quarantined; those that are: sites default/a"):
        await fleet.release(controller="jobs")


async def test_without_any_there_is_nothing_to_do(fleet: Fleet) -> None:
    assert await fleet.release() == "no key of web is quarantined"
    with pytest.raises(ConfigError, match="those that are: none"):
        await fleet.release("default/a")


async def test_a_server_that_does_not_answer_is_no_release(fleet: Fleet) -> None:
    await fleet.died("a", DEATHS)
    fleet.server.faults.inject(Refuse(match=Match(resource=str(CONFIG_MAPS)), status=503))
    with pytest.raises(OrderFailed, match=r"no key was released: .*503"):
        await fleet.release("default/a")


async def test_the_status_shows_them_the_worst_first(fleet: Fleet) -> None:
    await fleet.died("s", 1)
    await fleet.died("a", DEATHS)
    found = await fleet.status()
    assert [(row.key, row.deaths, row.quarantined) for row in found.quarantine] == [
        ("default/a", 3, True),
        ("default/s", 1, False),
    ]
    assert (found.quarantined_keys, found.quarantine[0].since) == (1, "2025-11-30T10:53:20Z")
    assert found.quarantine_trouble == ""


async def test_a_document_that_somebody_spoilt_is_said_to_be(fleet: Fleet) -> None:
    await fleet.died("a", DEATHS)
    spoilt = {"data": {"quarantine.json": '{"keys": 3}'}}
    await Client(fleet.transport).merge_patch(CONFIG_MAPS, "default", "web-quarantine", spoilt)
    found = await fleet.status()
    assert found.quarantine == ()
    assert found.quarantine_trouble == "keys: write a list of objects"
