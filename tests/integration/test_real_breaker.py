"""The breaker of destructive acts on a real kube-apiserver: it opens, status goes on, it closes again.

Judged from what the proxy in front of the server recorded, not from what the fleet says of itself.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from fleet.devcluster.faults.words import Refuse
from fleet.devcluster.recording.journal import REFUSED
from shards.clock import boot_seconds
from shards.limits.breaker import Breaker, BreakerSettings
from shards.ownership.live import Guards
from shards.runtime import WorkerRuntime
from tests.integration.real_pages import EXPIRED, Author, put_up
from tests.integration.real_stage import SITES, Stage, seen, staged

UNDER_WAY_SECONDS = 0.5
"""What was sent before the breaker opened is answered by then."""


def guarded(settings: BreakerSettings, runtime: WorkerRuntime) -> None:
    """A breaker whose times a test can wait for."""
    guards = Guards.of(runtime.settings.gate, runtime.clock())
    runtime.guards["sites"] = Guards(guards.budget, Breaker(settings))


def observed(stage: Stage, name: str) -> int:
    """How often the site's status was written, as far as the server carried it out."""
    written = stage.sent("patch", resource=SITES, reason="status", key=name)
    return sum(each.succeeded for each in written)


async def test_while_live_reads_fail_nothing_is_deleted_and_status_goes_on(
    real_kubeconfig: Path, tmp_path: Path
) -> None:
    author, settings = Author(), BreakerSettings(failures_to_open=3, open_seconds=2.0)
    names = ("one", "two", "three", "four")
    async with staged(
        author.controller(), real_kubeconfig, tmp_path, prepare=lambda runtime: guarded(settings, runtime)
    ) as stage:
        await put_up(stage, author, *names, "bystander", text=EXPIRED)
        broken = stage.proxy.faults.inject(Refuse(match=stage.match("get"), status=503))
        for name in names:
            await stage.order(name, "clean")
        await seen(lambda: len(stage.sent(REFUSED)) >= settings.failures_to_open, "three live reads have failed")
        opened_at = stage.sent(REFUSED)[settings.failures_to_open - 1].time
        before = observed(stage, "bystander")
        await stage.order("bystander", "nothing")
        await seen(lambda: observed(stage, "bystander") > before, "status goes on")
        await seen(lambda: probes(stage, opened_at), "one key asks whether it goes again")
        assert stage.sent("delete") == []
        assert len(await stage.pages()) == len(names) + 1
        broken.release()
        healed_at = boot_seconds()
        await seen(lambda: len(stage.sent("delete")) == len(names), "deletes go on by themselves")
        assert all(each.time > healed_at for each in stage.sent("delete"))
        assert [page["metadata"]["name"] for page in await stage.pages()] == ["bystander"]
        # Open means that nobody even asks; what was under way is answered.
        assert probes(stage, opened_at)[0] - opened_at >= settings.open_seconds * 0.9


def probes(stage: Stage, opened_at: float) -> list[float]:
    """When live reads failed after those that were under way as the breaker opened."""
    return [each.time for each in stage.sent(REFUSED) if each.time - opened_at > UNDER_WAY_SECONDS]


async def test_too_many_deletes_at_once_are_stretched_and_status_goes_on(real_kubeconfig: Path, tmp_path: Path) -> None:
    author, settings = Author(), BreakerSettings(destructive_limit=3, window_seconds=4.0, open_seconds=1.0)
    names = [f"site-{number}" for number in range(5)]
    async with staged(
        author.controller(), real_kubeconfig, tmp_path, prepare=lambda runtime: guarded(settings, runtime)
    ) as stage:
        await put_up(stage, author, *names, "bystander", text=EXPIRED)
        for name in names:
            await stage.order(name, "clean")
        await seen(lambda: len(stage.sent("delete")) == settings.destructive_limit, "as many as the window takes")
        before = observed(stage, "bystander")
        await stage.order("bystander", "nothing")
        await seen(lambda: observed(stage, "bystander") > before, "status goes on")
        assert len(stage.sent("delete")) == settings.destructive_limit
        assert len(await stage.pages()) == len(names) + 1 - settings.destructive_limit
        await seen(lambda: len(stage.sent("delete")) == len(names), "the others follow", within_seconds=30.0)
        times = [each.time for each in stage.sent("delete")]
        first, fourth = times[0], times[settings.destructive_limit]
        assert fourth - first >= settings.window_seconds * 0.9
        assert Counter(each.status for each in stage.sent("delete")) == {200: len(names)}
