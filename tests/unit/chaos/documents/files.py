"""Experiment files as mappings, for tests to change."""

from __future__ import annotations

from typing import Any


def activity(func: str = "living_workers", kind: str = "probe", **fields: Any) -> dict[str, Any]:
    module = "chaos.probes.ownership" if kind == "probe" else "chaos.actions.processes"
    return {"type": kind, "name": func, "provider": {"type": "python", "module": module, "func": func}, **fields}


def document(**fields: Any) -> dict[str, Any]:
    """A file that is right."""
    target = {"on": ["dev"], "controller": "a.py:a", "pods": 2, "shards": 4, "objects": 10}
    return {
        "title": "a title",
        "description": "a description",
        "steady-state-hypothesis": {"title": "steady", "probes": [activity(tolerance=2)]},
        "method": [activity("kill_worker", "action")],
        "extensions": [{"name": "shardfleet", "target": target}],
        **fields,
    }
