"""What `fleet dev` uses to try the websites controller: demo objects, and when one of them is done."""

from typing import Any


def demo_object(i: int) -> dict[str, Any]:
    return {
        "apiVersion": "demo.shardfleet.dev/v1",
        "kind": "Website",
        "metadata": {"name": f"site-{i}", "namespace": "demo"},
        "spec": {"replicas": 1 + i % 3, "html": f"<h1>Site {i}</h1>"},
    }


def settled(site: dict[str, Any]) -> bool:
    wanted = {"ready": site["spec"]["replicas"], "observedGeneration": site["metadata"]["generation"]}
    status: dict[str, Any] = site.get("status", {})
    return status == wanted
