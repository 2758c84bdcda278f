"""What an author may expect while controllers run: garbage goes, errors come to light."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from fleet.devcluster.faults.match import Match
from fleet.devcluster.faults.words import Refuse
from shards import Context, Controller, PlainContext, Request, Result, TerminalError
from shards.errors import ConfigError, Invalid
from shards.objects import Object
from shards.testing.cluster import EmbeddedCluster
from shards.testing.running import NotSettled
from shards.testing.virtual_time import loop_seconds
from tests.unit.shards.testing.test_cluster import CONFIG_MAPS, CRD_FILE, pages, website

pytestmark = pytest.mark.looptime
WEBSITES = "demo.shardfleet.dev/v1/websites"


@pytest.fixture
async def cluster(embedded_cluster: EmbeddedCluster) -> EmbeddedCluster:
    await embedded_cluster.install(CRD_FILE)
    return embedded_cluster


def controller(function: Any, *, owns: str = "") -> Controller:
    made = Controller("websites", primary=WEBSITES)
    if owns:
        made.owns(owns)
    made.reconcile(function)
    return made


# -- garbage ---------------------------------------------------------------------------------------------------------


async def test_children_of_a_primary_that_the_controller_deletes_vanish(cluster: EmbeddedCluster) -> None:
    async def reconcile(ctx: Context, request: Request) -> None:
        site = ctx.store.get()
        if site is None:
            return
        if site["spec"]["replicas"] == 0:
            await ctx.client.delete(WEBSITES, request.name)
            return
        await ctx.client.ensure(CONFIG_MAPS, {"metadata": {"name": request.name}, "data": {"a": "b"}})

    async with cluster.running(controller(reconcile, owns=CONFIG_MAPS)) as controllers:
        await cluster.create(website("a"))
        await controllers.settled()
        assert await cluster.get(CONFIG_MAPS, "a") is not None

        await cluster.apply({**website("a"), "spec": {"replicas": 0, "html": ""}})
        await controllers.settled()
        assert await cluster.get(WEBSITES, "a") is None
        assert await cluster.get(CONFIG_MAPS, "a") is None


async def test_a_deleted_namespace_ends_with_all_that_is_in_it(cluster: EmbeddedCluster) -> None:
    await cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    site = website("a")
    site["metadata"]["namespace"] = "shop"
    async with cluster.running(pages()) as controllers:
        await cluster.create(site)
        await controllers.settled()
        await cluster.client.delete(cluster.kind_of({"apiVersion": "v1", "kind": "Namespace"}).resource, "", "shop")
        await controllers.settled()
    assert await cluster.get("v1/namespaces", "shop") is None
    assert await cluster.list(CONFIG_MAPS, namespace="shop") == []


# -- what nothing serves ---------------------------------------------------------------------------------------------


async def test_a_missing_definition_is_named_at_once(embedded_cluster: EmbeddedCluster) -> None:
    with pytest.raises(ConfigError, match=r"websites\.primary: nothing serves .*/v1/websites; install its Custom"):
        async with embedded_cluster.running(pages()):
            pass
    assert loop_seconds() < 1


async def test_a_misspelt_resource_is_named_with_the_one_that_was_meant(cluster: EmbeddedCluster) -> None:
    async def reconcile(ctx: Context) -> None: ...

    with pytest.raises(ConfigError, match=r"websites\.owns: nothing serves v1/configmap; did you mean v1/configmaps\?"):
        async with cluster.running(controller(reconcile, owns="v1/configmap")):
            pass
    for misspelt in (
        cluster.get("v1/configmap", "a"),
        cluster.list("v1/configmap"),
        cluster.delete("v1/configmap", ""),
    ):
        with pytest.raises(ConfigError, match="did you mean v1/configmaps"):
            await misspelt


async def test_views_that_are_never_complete_end_the_start_with_their_trouble(cluster: EmbeddedCluster) -> None:
    cluster.server.faults.inject(Refuse(match=Match(verbs=("list", "watch")), status=503))
    with pytest.raises(TimeoutError, match=r"did not see all their objects within 20 s: .*503"):
        async with cluster.running(pages(), start_seconds=20):
            pass


# -- errors ----------------------------------------------------------------------------------------------------------


async def test_settled_raises_with_the_error_of_the_key(cluster: EmbeddedCluster) -> None:
    async def reconcile(ctx: Context, request: Request) -> None:
        raise KeyError(request.name)

    await cluster.create(website("a"))
    async with cluster.running(controller(reconcile)) as controllers:
        with pytest.raises(NotSettled, match=r"within 10 s: websites default/a \(failing\): KeyError\('a'\)") as raised:
            await controllers.settled(within_seconds=10)
    assert isinstance(raised.value.__cause__, KeyError)
    assert raised.value.__cause__.__traceback__ is not None


async def test_errors_tell_what_was_raised_even_where_nothing_fails_any_more(cluster: EmbeddedCluster) -> None:
    async def reconcile(ctx: Context, request: Request) -> None:
        if request.name == "never":
            raise TerminalError("no")
        if len(tried) < 2:
            tried.append(request)
            raise ValueError("not yet")

    tried: list[Request] = []
    async with cluster.running(controller(reconcile)) as controllers:
        await cluster.create(website("later"))
        await controllers.settled()
        await cluster.create(website("never"))
        await controllers.settled()
        found = [str(each) for each in controllers.errors]
    later = "websites default/later: ValueError('not yet')"
    assert found == [later, later, "websites default/never: TerminalError('no')"]


async def test_conflicts_are_no_errors(cluster: EmbeddedCluster) -> None:
    async def reconcile(ctx: Context, request: Request) -> None:
        site = ctx.store.get()
        if site is None or site.get("status"):
            return
        if not interfered:
            interfered.append(True)
            await cluster.apply({**website("a"), "spec": {"replicas": 3}})
        await ctx.client.patch_status({"ready": site["spec"]["replicas"]})

    interfered: list[bool] = []
    async with cluster.running(controller(reconcile)) as controllers:
        await cluster.create(website("a"))
        await controllers.settled()
        assert controllers.errors == []
    found = await cluster.get(WEBSITES, "a")
    assert found is not None
    assert found["status"] == {"ready": 3}


@pytest.mark.looptime(False)
async def test_a_plain_function_raises_its_errors_to_the_test_too(cluster: EmbeddedCluster) -> None:
    def reconcile(ctx: PlainContext, request: Request) -> None:
        raise KeyError(request.name)

    await cluster.create(website("a"))
    async with cluster.running(controller(reconcile)) as controllers:
        async with asyncio.timeout(30):
            while not controllers.errors:
                await asyncio.sleep(0.01)
        with pytest.raises(NotSettled, match=r"KeyError\('a'\)"):
            await controllers.settled(within_seconds=0)


async def test_an_outcome_that_a_function_raises_is_the_tests(cluster: EmbeddedCluster) -> None:
    async def reconcile(ctx: Context, request: Request) -> None:
        pytest.fail(f"nobody wants {request.name}")

    await cluster.create(website("a"))
    with pytest.raises(pytest.fail.Exception, match="nobody wants a"):
        async with cluster.running(controller(reconcile)) as controllers:
            await controllers.settled()
    with pytest.raises(pytest.fail.Exception, match="nobody wants a"):
        async with cluster.running(controller(reconcile)) as controllers:
            await asyncio.sleep(1)


# -- what authors write ----------------------------------------------------------------------------------------------


async def test_a_requeue_comes_when_its_time_has_come(cluster: EmbeddedCluster) -> None:
    async def reconcile(ctx: Context, request: Request) -> Result:
        seen.append(loop_seconds())
        return Result(requeue_after_seconds=300)

    seen: list[float] = []
    real = time.monotonic()
    async with cluster.running(controller(reconcile)) as controllers:
        await cluster.create(website("a"))
        await controllers.settled()
        await asyncio.sleep(3600)
    assert len(seen) in (12, 13)
    assert time.monotonic() - real < 30


async def test_a_finalizer_gets_its_run_and_lets_the_object_go(cluster: EmbeddedCluster) -> None:
    async def reconcile(ctx: Context, request: Request) -> None:
        site = ctx.store.get()
        if site is None:
            return
        held = site["metadata"].get("finalizers", [])
        if "deletionTimestamp" in site["metadata"]:
            cleaned.append(request.name)
            rest = [each for each in held if each != "mine.example/dns"]
            await ctx.client.patch(WEBSITES, request.name, {"metadata": {"finalizers": rest}})
        elif not held:
            await ctx.client.patch(WEBSITES, request.name, {"metadata": {"finalizers": ["mine.example/dns"]}})

    cleaned: list[str] = []
    async with cluster.running(controller(reconcile)) as controllers:
        await cluster.create(website("a"))
        await controllers.settled()
        await cluster.delete(WEBSITES, "a")
        await controllers.settled()
        assert cleaned == ["a"]
        assert await cluster.get(WEBSITES, "a") is None


async def test_a_test_plays_the_controller_that_is_not_there(cluster: EmbeddedCluster) -> None:
    async def reconcile(ctx: Context, request: Request) -> None:
        labels = {"a": "b"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
        spec = {"selector": {"matchLabels": labels}, "template": template}
        made = await ctx.client.ensure("apps/v1/deployments", {"metadata": {"name": request.name}, "spec": spec})
        await ctx.client.patch_status({"ready": made.get("status", {}).get("readyReplicas", 0)})

    async with cluster.running(controller(reconcile, owns="apps/v1/deployments")) as controllers:
        await cluster.create(website("a"))
        await controllers.settled()
        await cluster.patch_status("apps/v1/deployments", "a", {"replicas": 1, "readyReplicas": 1})
        await controllers.settled()
    found = await cluster.get(WEBSITES, "a")
    assert found is not None
    assert found["status"] == {"ready": 1}


async def test_a_file_that_is_wrong_is_named_with_its_document(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    file = tmp_path / "objects.yaml"
    for text, error, said in (
        ("kind: ConfigMap", ConfigError, "apiVersion: missing"),
        ("- a", ConfigError, "no object, but list"),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: A_B}}", Invalid, "lowercase RFC 1123 subdomain"),
    ):
        file.write_text(f"---\n---\n{text}")
        with pytest.raises(error, match=said) as refused:
            await cluster.install(file)
        assert f"document 2 of {file}" in str(refused.value) + str(getattr(refused.value, "__notes__", ""))


async def test_an_object_without_a_namespace_is_found(cluster: EmbeddedCluster) -> None:
    node: Object = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    await cluster.create(node)
    found = await cluster.get("v1/nodes", "n")
    assert found is not None
    assert [each["metadata"]["name"] for each in await cluster.list("v1/nodes", namespace="default")] == ["n"]
    await cluster.delete("v1/nodes", "n")
    assert await cluster.get("v1/nodes", "n") is None


async def test_controllers_that_are_no_declaration_are_refused(cluster: EmbeddedCluster) -> None:
    with pytest.raises(ConfigError, match="at least one controller"):
        async with cluster.running():
            pass
    with pytest.raises(ConfigError, match="missing; decorate a function"):
        async with cluster.running(Controller("websites", primary=WEBSITES)):
            pass
