"""What tries the controller of sites: objects, changes of them, and when one is done."""

from typing import Any

WORDS = "größer, 世界"
"""In every object: a stream that breaks in the middle of a character needs one that has several bytes."""


def demo_object(i: int) -> dict[str, Any]:
    return {
        "apiVersion": "chaos.shardfleet.dev/v1",
        "kind": "Site",
        "metadata": {"name": f"site-{i}", "namespace": "default"},
        "spec": {"pages": 1 + i % 3, "text": f"text {i} {WORDS}"},
    }


def change(site: dict[str, Any], number: int) -> dict[str, Any]:
    """A merge patch."""
    return {"spec": {"pages": 1 + number % 3, "text": f"change {number} {WORDS}"}}


def settled(site: dict[str, Any]) -> bool:
    spec, status = site["spec"], site.get("status", {})
    return (status.get("pages"), status.get("text"), status.get("observedGeneration")) == (
        spec["pages"],
        spec["text"],
        site["metadata"]["generation"],
    )
