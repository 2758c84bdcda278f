"""Objects of 1 KB, and lists of them, for informers that are measured without a server."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from shards.objects import Resource

WIDGETS = Resource("bench", "v1", "widgets")
_TEXT = "The quick brown fox jumps over the lazy dog. " * 15


def widget(number: int, version: int) -> bytes:
    """Another body at each version."""
    metadata = {
        "name": f"widget-{number}",
        "namespace": f"ns-{number % 20}",
        "uid": f"00000000-0000-4000-8000-{number:012}",
        "resourceVersion": str(version),
        "labels": {"app": f"a{number % 50}"},
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    spec = {"text": _TEXT, "n": number + version}
    return msgspec.json.encode({"apiVersion": "bench/v1", "kind": "Widget", "metadata": metadata, "spec": spec})


def page(items: Iterable[bytes], version: int, following: str) -> bytes:
    """One page of a list. following: the continue token, "" on the last one."""
    metadata = msgspec.json.encode({"resourceVersion": str(version), "continue": following})
    listed = b",".join(items)
    return b'{"kind":"WidgetList","apiVersion":"bench/v1","metadata":' + metadata + b',"items":[' + listed + b"]}"
