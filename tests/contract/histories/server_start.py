"""What a server has of its own, and the methods that it does not know."""

from __future__ import annotations

from tests.contract.transcripts import Document, Stage


def without_port(answer: Document) -> None:
    """Where a server listens is its own."""
    answer["spec"]["ports"][0]["targetPort"] = 0


async def objects_of_the_start(stage: Stage) -> None:
    await stage.ask("GET", "/api/v1/namespaces/default/services/kubernetes", before=without_port)
    for name in ("system-node-critical", "system-cluster-critical"):
        await stage.ask("GET", stage.cluster_path("scheduling.k8s.io/v1/priorityclasses", name))


async def methods_of_paths(stage: Stage) -> None:
    paths = ("/api", "/apis", "/apis/apps", "/apis/apps/v1", "/api/v1", "/version", "/healthz", "/nope")
    for method in ("OPTIONS", "TRACE", "HEAD"):
        for path in (*paths, "/api/v1/namespaces/default", "/apis/nope.example.com/v1/things"):
            await stage.ask(method, path, before=dict.clear)


HISTORIES = (objects_of_the_start, methods_of_paths)
