"""What a run came to, and how it differs from the run without faults: Sieve's two differential oracles, and errors.

End state: every object, without what no two runs have in common. Counts: how often each object was created and deleted,
whoever did it. Names that the server made up count as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fleet.devcluster.storage.commits import Commit, Stored
from shards.errors import TerminalError
from shards.objects import Object
from shards.testing.observed import Failures
from tests.integration.sieve.parts import COMPARED
from tests.integration.sieve.process import Process

_OF_A_RUN = frozenset(
    {"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "deletionGracePeriodSeconds"}
)
"""Of metadata."""

_ADDRESSES = frozenset({"clusterIP", "clusterIPs"})
"""Of Services, drawn by the server."""

_SLOT = "shardfleet.dev/slot"


@dataclass
class Outcome:
    """state: by resource and name. changes: how many there were, of whatever kind. errors: what reconciles raised, what
    the user waited for in vain, what never settled. unfired: rules whose trigger was never seen: such a run shows
    nothing. log: what happened, with times."""

    state: dict[tuple[str, str], Object] = field(default_factory=dict)
    created: Counter[tuple[str, str]] = field(default_factory=Counter)
    deleted: Counter[tuple[str, str]] = field(default_factory=Counter)
    changes: int = 0
    errors: list[str] = field(default_factory=list)
    unfired: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def committed(self, commit: Commit) -> None:
        """Counts it."""
        resource = str(commit.kind.resource)
        if resource in COMPARED:
            self.changes += 1
            if commit.old is None and commit.new is not None:
                self.created[resource, _name(commit.new)] += 1
            elif commit.new is None and commit.old is not None:
                self.deleted[resource, _name(commit.old)] += 1

    def ended(self, resource: str, objects: list[Stored], masked: frozenset[str]) -> None:
        """The end state of a resource."""
        paths = [each.partition(" ")[2] for each in masked if each.startswith(f"{resource} ")]
        for stored in objects:
            body = normalised(stored.decode())
            for path in paths:
                _forget(body, path)
            self.state[resource, _name(stored)] = body

    def differences(self, reference: Outcome) -> list[str]:
        """Sentences, none where the two are equal."""
        found = list(self.errors)
        for place in sorted(self.state.keys() | reference.state.keys()):
            what = " ".join(place)
            if place not in self.state:
                found.append(f"end state: {what} is missing")
            elif place not in reference.state:
                found.append(f"end state: {what} is there")
            else:
                found += [f"end state: {what} {each}" for each in _fields(reference.state[place], self.state[place])]
        for verb in ("created", "deleted"):
            mine: Counter[tuple[str, str]] = getattr(self, verb)
            theirs: Counter[tuple[str, str]] = getattr(reference, verb)
            for place in sorted(mine.keys() | theirs.keys()):
                if mine[place] != theirs[place]:
                    found.append(f"{verb}: {' '.join(place)} {mine[place]} times instead of {theirs[place]}")
        return found


def raised(failures: Failures) -> list[str]:
    """What authors' functions raised. Not that their object is gone, with which the framework ends a run that is too
    late."""
    late = (isinstance(each.error, TerminalError) and " is gone: " in str(each.error) for each in failures.all)
    return [f"raised: {each.error!r}" for each, is_late in zip(failures.all, late, strict=True) if not is_late]


def told_of(process: Process | None) -> list[str]:
    """Keys that keep failing, or wait for long, and why."""
    if process is None:
        return []
    failing = [f"{each.key} fails: {each.error}" for each in process.shard.failing(10)]
    return failing + [f"{each.key} waits: {each.why}" for each in process.shard.waiting(10)]


def _name(stored: Stored) -> str:
    meta: Object = stored.decode()["metadata"]
    made_up = meta.get("generateName")
    return f"{made_up}*" if made_up else str(meta["name"])


def normalised(body: Object) -> Object:
    """Without what no two runs have in common. A deletionTimestamp is told as whether there is one."""
    meta = {name: value for name, value in body["metadata"].items() if name not in _OF_A_RUN}
    if "deletionTimestamp" in meta:
        meta["deletionTimestamp"] = True
    owners = meta.pop("ownerReferences", None) or ()
    meta["owners"] = sorted(f"{each['kind']} {each['name']}" for each in owners)
    (meta.get("labels") or {}).pop(_SLOT, None)
    if meta.get("generateName"):
        meta["name"] = "*"
    spec = body.get("spec")
    if isinstance(spec, dict) and spec.get("clusterIP") not in (None, "None"):
        body = {**body, "spec": {name: value for name, value in spec.items() if name not in _ADDRESSES}}
    return {**body, "metadata": meta}


def _forget(body: Object, path: str) -> None:
    *way, last = path.split(".")
    found: Any = body
    for part in way:
        found = found.get(part) if isinstance(found, dict) else None
    if isinstance(found, dict):
        found.pop(last, None)


def _fields(want: Any, have: Any, path: str = "") -> Iterator[str]:
    if isinstance(want, dict) and isinstance(have, dict):
        for name in sorted(want.keys() | have.keys()):
            yield from _fields(want.get(name), have.get(name), f"{path}.{name}" if path else name)
    elif want != have:
        yield f"{path}: {have!r} instead of {want!r}"
