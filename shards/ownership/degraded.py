"""The mark on an object whose destructive acts are paused: a condition in the status of the primary. PURE.

After the API conventions: the type carries this project's domain, so that it never meets one of an author;
lastTransitionTime moves with `status` only; observedGeneration is that of the object on which it was decided.
Each mark is one write a transition, and other conditions stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import time
from typing import Any

from shards.errors import ApiError, Forbidden, Invalid, NotFound
from shards.objects import DOMAIN, Key, Object, Resource

CONDITION = f"{DOMAIN}/Degraded"
PAUSED, RESUMED = "DestructiveActsPaused", "DestructiveActsResumed"

RETRY_SECONDS = 30.0
"""After a mark that could not be written: the server that the breaker is open for has other things to do."""

REFUSED_SECONDS = 300.0
"""After a mark that the server refuses as invalid: a rule of the CRD or a webhook finds fault with this object."""

LONGEST_MESSAGE = 1024


@dataclass(slots=True)
class Degraded:
    """Of one controller in one shard.

    off: why no marks are written, "" while they are. keys: those with a paused act, and when a mark of each may be
    tried. wall: seconds since 1970.
    """

    off: str = ""
    keys: dict[Key, float] = field(default_factory=dict)
    wall: Callable[[], float] = time

    def merged(self, status: Mapping[str, Any], current: Object, *, paused: str, cleared: bool) -> Mapping[str, Any]:
        """The status that an author wants, with the mark as it is or has to be.

        paused: why an act of this run was paused, "" for none. cleared: whether none is any more.
        """
        held = (current.get("status") or {}).get("conditions")
        given = status.get("conditions", held)
        if not isinstance(given, list | None):
            return status
        old = mark_in(held)
        new = old if self.off else self._mark(old, current, paused, cleared=cleared)
        if new is None or (new is old and "conditions" not in status):
            return status
        others = [each for each in given or () if mark_in([each]) is None]
        return {**status, "conditions": [*others, new]}

    def _mark(self, old: Object | None, current: Object, paused: str, *, cleared: bool) -> Object | None:
        generation = current["metadata"].get("generation", 0)
        was = old is not None and old.get("status") == "True"
        if paused and not (old is not None and was and old.get("observedGeneration") == generation):
            return self._condition("True", PAUSED, paused, generation, old)
        if cleared and was and not paused:
            return self._condition("False", RESUMED, "", generation, old)
        return old

    def _condition(self, status: str, reason: str, message: str, generation: int, old: Object | None) -> Object:
        moved = datetime.fromtimestamp(self.wall(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        if old is not None and old.get("status") == status:
            moved = old.get("lastTransitionTime", moved)
        return {
            "type": CONDITION,
            "status": status,
            "reason": reason,
            "message": message[:LONGEST_MESSAGE],
            "observedGeneration": generation,
            "lastTransitionTime": moved,
        }

    def failed(self, key: Key, error: Exception, now: float) -> bool:
        """A mark could not be written. Whether none will ever be."""
        if isinstance(error, NotFound | Forbidden) or (isinstance(error, ApiError) and error.status == 405):
            self.off = str(error)
            return True
        if key in self.keys:
            self.keys[key] = now + (REFUSED_SECONDS if isinstance(error, Invalid) else RETRY_SECONDS)
        return False


def mark_in(conditions: Any) -> Object | None:
    """The mark among the conditions of a status, if there is one."""
    for each in conditions if isinstance(conditions, list) else ():
        if isinstance(each, dict) and each.get("type") == CONDITION:
            return each
    return None


def marked(conditions: Any) -> bool:
    """Whether they say that acts are paused."""
    found = mark_in(conditions)
    return found is not None and found.get("status") == "True"


def unmarkable(primary: Resource) -> str:
    """Why objects of the resource are not marked: those of Kubernetes itself have conditions of other controllers."""
    own = "." in primary.group and not primary.group.endswith(".k8s.io")
    return "" if own else f"{primary} belongs to Kubernetes"
