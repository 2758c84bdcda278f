"""What the server says of an object that it has accepted."""

from __future__ import annotations

import msgspec
import pytest

from tests.unit.fleet.devcluster.cluster import DEFINITIONS, WEBSITES, Cluster, definition, website

PATH = WEBSITES.path("default")
MERGE = {"content-type": "application/merge-patch+json"}
FINALIZERS = b'{"metadata":{"finalizers":["plain"]}}'


@pytest.fixture
async def cluster() -> Cluster:
    made = Cluster.make()
    made.server.seed(DEFINITIONS, definition())
    return made


async def warnings_of_create(cluster: Cluster, name: str) -> list[str]:
    body = website(name)
    body["metadata"]["finalizers"] = ["plain"]
    answer = await cluster.server.handle("POST", PATH, (), msgspec.json.encode(body), {})
    assert answer.status == 201
    return list(answer.warnings)


async def test_a_new_finalizer_without_a_domain_is_remarked_on(cluster: Cluster) -> None:
    (warning,) = await warnings_of_create(cluster, "a")
    assert warning.startswith('metadata.finalizers: "plain": prefer a domain-qualified finalizer name')


async def test_a_write_that_changes_nothing_is_not_remarked_on_again(cluster: Cluster) -> None:
    await warnings_of_create(cluster, "a")
    answer = await cluster.server.handle("PATCH", f"{PATH}/a", (), FINALIZERS, MERGE)
    assert (answer.status, list(answer.warnings)) == (200, [])


async def test_a_write_on_trial_is_compared_with_what_is_stored(cluster: Cluster) -> None:
    await warnings_of_create(cluster, "a")
    changed = b'{"metadata":{"finalizers":["plain","other"]}}'
    answer = await cluster.server.handle("PATCH", f"{PATH}/a", (("dryRun", "All"),), changed, MERGE)
    assert [each.partition(": prefer")[0] for each in answer.warnings] == ['metadata.finalizers: "other"']
