from __future__ import annotations

from tests.unit.fleet.devcluster.cluster import CONFIG_MAPS, NAMESPACES, Cluster, config_map


async def test_a_namespace_ends_after_what_is_in_it() -> None:
    cluster = Cluster.make()
    await cluster.client.create(NAMESPACES, "", {"metadata": {"name": "shop"}})
    await cluster.client.create(CONFIG_MAPS, "shop", config_map("held", finalizers=["example.com/wait"]))
    await cluster.client.delete(NAMESPACES, "", "shop")
    await cluster.server.collect_garbage()
    ending = await cluster.client.get(NAMESPACES, "", "shop")
    holding = [each["type"] for each in ending["status"]["conditions"] if each["status"] == "True"]
    assert holding == ["NamespaceContentRemaining", "NamespaceFinalizersRemaining"]
    await cluster.client.merge_patch(CONFIG_MAPS, "shop", "held", {"metadata": {"finalizers": None}})
    await cluster.server.collect_garbage()
    assert (await cluster.ask("GET", NAMESPACES.path("", "shop")))[0] == 404


async def test_a_finalizer_of_somebody_else_holds_the_namespace() -> None:
    cluster = Cluster.make()
    body = {"metadata": {"name": "shop"}, "spec": {"finalizers": ["kubernetes", "example.com/wait"]}}
    await cluster.client.create(NAMESPACES, "", body)
    await cluster.client.delete(NAMESPACES, "", "shop")
    await cluster.server.collect_garbage()
    await cluster.server.collect_garbage()
    ending = await cluster.client.get(NAMESPACES, "", "shop")
    assert ending["spec"] == {"finalizers": ["example.com/wait"]}
    ending["spec"] = {"finalizers": []}
    assert (await cluster.ask("PUT", f"{NAMESPACES.path('', 'shop')}/finalize", ending))[0] == 200
    assert (await cluster.ask("GET", NAMESPACES.path("", "shop")))[0] == 404
