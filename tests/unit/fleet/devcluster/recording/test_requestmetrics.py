from __future__ import annotations

import pytest

from tests.unit.fleet.devcluster.cluster import CONFIG_MAPS, Cluster, config_map


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.make()


async def page(cluster: Cluster) -> dict[str, float]:
    """The metrics by name and labels."""
    answer = await cluster.server.handle("GET", "/metrics")
    assert answer.content_type.startswith("text/plain; version=0.0.4")
    lines = [line for line in answer.body.decode().splitlines() if not line.startswith("#")]
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def labels(verb: str, scope: str) -> str:
    shown = 'component="apiserver",dry_run="",group="",resource="configmaps"'
    return f'{shown},scope="{scope}",subresource="",verb="{verb}",version="v1"'


async def test_requests_are_counted_by_what_they_did(cluster: Cluster) -> None:
    for _ in range(2):
        await cluster.ask("POST", CONFIG_MAPS.path("default"), config_map("a"))
    await cluster.ask("GET", CONFIG_MAPS.path())
    found = await page(cluster)
    assert found[f'apiserver_request_total{{code="201",{labels("POST", "resource")}}}'] == 1
    assert found[f'apiserver_request_total{{code="409",{labels("POST", "resource")}}}'] == 1
    assert found[f'apiserver_request_total{{code="200",{labels("LIST", "cluster")}}}'] == 1
    assert found[f"apiserver_request_duration_seconds_count{{{labels('POST', 'resource')}}}"] == 2
    assert found[f'apiserver_request_duration_seconds_bucket{{{labels("POST", "resource")},le="+Inf"}}'] == 2
    assert found['apiserver_resource_objects{group="",resource="configmaps"}'] == 1
    assert found["process_resident_memory_bytes"] > 0


async def test_open_watches_and_their_events_are_counted(cluster: Cluster) -> None:
    answer = await cluster.server.handle("GET", CONFIG_MAPS.path("default"), [("watch", "true")])
    assert answer.stream is not None
    for name in ("a", "b"):
        await cluster.ask("POST", CONFIG_MAPS.path("default"), config_map(name))
    assert len((await answer.stream.read()).splitlines()) == 2
    found = await page(cluster)
    assert found[f"apiserver_longrunning_requests{{{labels('WATCH', 'cluster')}}}"] == 1
    events = 'apiserver_watch_events_total{group="",resource="configmaps",version="v1"}'
    assert found[events] == 2
    answer.stream.close()
    found = await page(cluster)
    assert f"apiserver_longrunning_requests{{{labels('WATCH', 'cluster')}}}" not in found
    assert found[events] == 2


async def test_metrics_do_not_look_at_the_method(cluster: Cluster) -> None:
    answer = await cluster.server.handle("POST", "/metrics")
    assert (answer.status, answer.body[:7]) == (200, b"# HELP ")


async def test_what_nobody_serves_makes_no_series_of_its_own(cluster: Cluster) -> None:
    async def series() -> set[str]:
        return {each for each in await page(cluster) if each.startswith("apiserver_request_total")}

    async def odd(number: int) -> None:
        for method, path in (
            ("GET", f"/nowhere{number}/x"),
            ("GET", f"/apis/none{number}.example/v1/things"),
            ("GET", f"/api/v{number + 2}/pods"),
            ("GET", f'/api/v1/namespaces/default/odd"{number}'),
            ("GET", f"/api/v1/namespaces/default/configmaps/a/sub{number}"),
            (f"BREW{number}", "/api/v1/namespaces"),
            ("POST", f"/apis/authorization.k8s.io/v{number + 2}/selfsubjectaccessreviews"),
        ):
            await cluster.server.handle(method, path)

    await page(cluster)  # counts itself from the next page on
    await odd(1)
    first = await series()
    assert any('verb="other"' in each for each in first)
    for number in range(2, 20):
        await odd(number)
    assert await series() == first
