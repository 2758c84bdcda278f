"""What a reconcile saw of Secrets is told in no log, and telling anything changes nothing that it decides."""

from __future__ import annotations

import asyncio
from base64 import b64encode

import pytest

from shards.authoring.context import Context
from shards.errors import Conflict
from shards.objects import Object
from shards.veil import HIDDEN
from tests.unit.shards.ownership.desk import Desk
from tests.unit.shards.world import SECRETS, World

pytestmark = pytest.mark.looptime


def password(value: str) -> Object:
    return {"data": {"password": b64encode(value.encode()).decode()}}


@pytest.fixture
def desk(world: World, desk: Desk) -> Desk:
    world.server.seed(SECRETS, {"metadata": {"name": "s", "namespace": "default"}, **password("hunter1")})
    return desk


async def change(world: World) -> None:
    """The view shows another value, in the middle of a reconcile."""
    await world.kubectl.merge_patch(SECRETS, "default", "s", password("hunter2"))
    await asyncio.sleep(0.1)


async def test_a_line_in_the_log_moves_no_decision_to_a_state_that_its_author_has_not_seen(
    world: World, desk: Desk
) -> None:
    async def act(ctx: Context) -> None:
        assert ctx.store.get(SECRETS, "s") is not None
        await change(world)
        ctx.log.warning("decided")
        await ctx.client.patch(SECRETS, "s", {"data": {"user": "YQ=="}})

    with pytest.raises(Conflict):
        await desk.do(act)


@pytest.mark.parametrize("live", [False, True], ids=["read in the view", "read live"])
async def test_a_value_stays_hidden_when_the_view_has_moved_on(
    world: World, desk: Desk, caplog: pytest.LogCaptureFixture, live: bool
) -> None:
    async def act(ctx: Context) -> None:
        found = await ctx.live.get(SECRETS, "s") if live else ctx.store.get(SECRETS, "s")
        assert found is not None
        found["data"] = {}
        await change(world)
        ctx.store.get(SECRETS, "s")
        ctx.log.warning("was %s, is %s", "hunter1", "hunter2")

    await desk.do(act)
    assert f"was {HIDDEN}, is {HIDDEN}" in caplog.text


async def test_a_line_in_the_log_is_as_the_standard_library_has_it(
    desk: Desk, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """Named arguments, the error of another place, and what does not fit its format, which raises nothing."""

    async def act(ctx: Context) -> None:
        assert ctx.store.get(SECRETS, "s") is not None
        ctx.log.warning("%(what)s is %(value)s", {"what": "it", "value": "hunter1"})
        try:
            raise ValueError("hunter1")
        except ValueError as error:
            caught = (ValueError, error, error.__traceback__)
        ctx.log.warning("earlier", exc_info=caught)
        ctx.log.warning("of %d", "hunter1")

    await desk.do(act)
    assert f"it is {HIDDEN}" in caplog.text
    assert f"ValueError: {HIDDEN}" in caplog.text
    assert "of %d" in caplog.text
    assert "hunter1" not in caplog.text + capsys.readouterr().err
