"""The breaker of destructive acts on a real kube-apiserver: it opens, status goes on, it closes again.

Judged from what the proxy in front of the server recorded, not from what the fleet says of itself.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from fleet.devcluster.faults.words import Refuse
from fleet.devcluster.recording.journal import REFUSED
from shards.clock import boot_seconds
from shards.objects import Object
from shards.ownership.degraded import mark_in
from shards.settings import BreakerSettings
from tests.integration.real_pages import EXPIRED, Author, put_up
from tests.integration.real_stage import SITES, Stage, guarded, seen, staged

UNDER_WAY_SECONDS = 0.5
"""What was sent before the breaker opened is answered by then."""


async def degraded(stage: Stage) -> dict[str, str]:
    """Sites that carry the mark of paused acts, and what it says."""
    items: list[Object] = (await stage.hand.list(SITES, stage.namespace))["items"]
    marks = ((each["metadata"]["name"], mark_in(each.get("status", {}).get("conditions"))) for each in items)
    return {name: mark["status"] for name, mark in marks if mark is not None}


def observed(stage: Stage, name: str) -> int:
    """How often the site's status was written, as far as the server carried it out."""
    written = stage.sent("patch", resource=SITES, reason="status", key=name)
    return sum(each.succeeded for each in written)


async def test_while_live_reads_fail_nothing_is_deleted_and_status_goes_on(
    real_kubeconfig: Path, tmp_path: Path
) -> None:
    author, breaker = Author(), BreakerSettings(failures_to_open=3, open_seconds=2.0)
    names = ("one", "two", "three", "four")
    async with staged(author.controller(), real_kubeconfig, tmp_path, settings=guarded(breaker)) as stage:
        await put_up(stage, author, *names, "bystander", text=EXPIRED)
        broken = stage.proxy.faults.inject(Refuse(match=stage.match("get"), status=503))
        for name in names:
            await stage.order(name, "clean")
        await seen(lambda: len(stage.sent(REFUSED)) >= breaker.failures_to_open, "three live reads have failed")
        opened_at = stage.sent(REFUSED)[breaker.failures_to_open - 1].time
        before = observed(stage, "bystander")
        await stage.order("bystander", "nothing")
        await seen(lambda: observed(stage, "bystander") > before, "status goes on")
        await seen(lambda: probes(stage, opened_at), "one key asks whether it goes again")
        assert stage.sent("delete") == []
        assert len(await stage.pages()) == len(names) + 1
        assert await degraded(stage) == dict.fromkeys(names, "True")
        broken.release()
        healed_at = boot_seconds()
        await seen(lambda: len(stage.sent("delete")) == len(names), "deletes go on by themselves")
        assert all(each.time > healed_at for each in stage.sent("delete"))
        assert [page["metadata"]["name"] for page in await stage.pages()] == ["bystander"]
        await seen(lambda: not stage.shard.unsettled(), "nothing is left to do")
        assert await degraded(stage) == dict.fromkeys(names, "False")
        # Open means that nobody even asks; what was under way is answered.
        assert probes(stage, opened_at)[0] - opened_at >= breaker.open_seconds * 0.9


def probes(stage: Stage, opened_at: float) -> list[float]:
    """When live reads failed after those that were under way as the breaker opened."""
    return [each.time for each in stage.sent(REFUSED) if each.time - opened_at > UNDER_WAY_SECONDS]


async def test_too_many_deletes_at_once_are_stretched_and_status_goes_on(real_kubeconfig: Path, tmp_path: Path) -> None:
    author, breaker = Author(), BreakerSettings(destructive_limit=3, window_seconds=4.0, open_seconds=1.0)
    names = [f"site-{number}" for number in range(5)]
    async with staged(author.controller(), real_kubeconfig, tmp_path, settings=guarded(breaker)) as stage:
        await put_up(stage, author, *names, "bystander", text=EXPIRED)
        for name in names:
            await stage.order(name, "clean")
        await seen(lambda: len(stage.sent("delete")) == breaker.destructive_limit, "as many as the window takes")
        before = observed(stage, "bystander")
        await stage.order("bystander", "nothing")
        await seen(lambda: observed(stage, "bystander") > before, "status goes on")
        assert len(stage.sent("delete")) == breaker.destructive_limit
        assert len(await stage.pages()) == len(names) + 1 - breaker.destructive_limit
        await seen(lambda: len(stage.sent("delete")) == len(names), "the others follow", within_seconds=30.0)
        times = [each.time for each in stage.sent("delete")]
        first, fourth = times[0], times[breaker.destructive_limit]
        assert fourth - first >= breaker.window_seconds * 0.9
        assert Counter(each.status for each in stage.sent("delete")) == {200: len(names)}
