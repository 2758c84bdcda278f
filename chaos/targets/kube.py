"""The target `kube`: a fleet that somebody runs in a cluster. Everything that is done to it goes through the API.

No recorder stands between that fleet and its server: what is judged is what watches of its Leases and its map tell
(`chaos.targets.watched_records`), so that acts on objects are not judged there. Single processes and the way to the
server are out of reach; actions on them fail with a sentence that says so.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from chaos.targets.api import BlockingApi
from chaos.targets.background import Background
from chaos.targets.kube_people import KubePeople
from chaos.targets.kube_pods import KubePods
from chaos.targets.reach import refuse
from chaos.targets.target import TargetFailed
from chaos.targets.watched_records import WatchedRecords
from fleet.devcluster.evidence.verdict import Verdict
from fleet.devcluster.judging.judge import Judge
from fleet.devcluster.recording.journal import Entry
from fleet.records.lease_records import map_from_configmap, member_record_from_lease
from fleet.records.object_names import CONFIG_MAPS, LEASES, Kind, Names
from shards.clock import boot_seconds
from shards.errors import ApiError, NotFound, ShardError
from shards.journal import Note
from shards.objects import Resource

_START_SECONDS = 30.0
_BLIND_SECONDS = 5.0
"""So long a watch may be interrupted before nothing is said any more about who owns what."""


class KubeServer:
    """What `chaos.targets.target.Server` asks: nothing of it can be had here."""

    def inject(self, *faults: Mapping[str, Any]) -> list[int]:
        refuse("the way between the fleet and its API server")

    def release(self, numbers: Sequence[int]) -> None: ...

    def struck(self) -> dict[int, int]:
        return {}

    def heal(self) -> None: ...

    def pause(self) -> None:
        refuse("the API server's process")

    def resume(self) -> None: ...

    def freeze_replica(self) -> str:
        refuse("one of several API servers")

    def compact(self) -> None:
        refuse("what the API server stores")

    def back_up(self) -> None:
        refuse("what the API server stores")

    def restore(self) -> None:
        refuse("what the API server stores")


class KubeEvidence:
    """What `chaos.targets.target.Evidence` asks. Heard on one thread, asked on another.

    trouble: why nothing is heard any more; "" where something is.
    """

    def __init__(self, trouble: Callable[[], str] = lambda: "") -> None:
        self._trouble = trouble
        self._entries: list[Entry] = []
        self._judge = Judge(with_notes=False)
        self._lock = threading.Lock()

    def hear(self, entry: Entry) -> None:
        with self._lock:
            self._entries.append(entry)
            self._judge.hear(entry)

    def verdict(self) -> Verdict:
        """Raises TargetFailed where its records are not followed."""
        if trouble := self._trouble():
            raise TargetFailed(trouble)
        with self._lock:
            # What it says is its own, and goes on changing: this is a copy.
            return msgspec.json.decode(self._judge.verdict().encode(), type=Verdict)

    def whole(self) -> Verdict:
        return self.verdict()

    def entries(self) -> list[Entry]:
        return list(self._entries)

    def notes(self) -> list[Note]:
        return []

    def lines(self) -> Iterator[Entry | Note]:
        return iter(self.entries())


class KubeFleet:
    """A context manager: followed inside. See `chaos.targets.target`."""

    name = "kube"

    def __init__(self, names: Names, *, kubeconfig: Path | None, context: str | None, primary: Resource | None) -> None:
        """kubeconfig: None for the one that is configured. primary: what the fleet looks after."""
        self.names = names
        self._kubeconfig = kubeconfig
        self._context = context
        self._primary = primary
        self._stack = ExitStack()

    def __enter__(self) -> KubeFleet:
        """Returns once its records are followed. Raises TargetFailed where there is no such fleet, and ConfigError."""
        with ExitStack() as stack:
            background = Background()
            stack.callback(background.close)
            self.api = BlockingApi(self._kubeconfig, background, context=self._context)
            stack.callback(self.api.close)
            self.ranges, self.lease_seconds = self._look()
            self.pods = KubePods(self.api, self.names)
            self.server = KubeServer()
            self.people = KubePeople(self.api, self._primary, self.names.namespace)
            self.evidence = KubeEvidence(lambda: watched.trouble(_BLIND_SECONDS))
            watched = WatchedRecords(self.api.transport, self.names, self.evidence.hear, boot_seconds)
            stack.callback(background.begin(watched.follow()).cancel)
            background.wait(listed(watched, _START_SECONDS))
            self.settled_at = self.now()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def host(self) -> str:
        """URL of the API server."""
        return self.api.transport.host

    def now(self) -> float:
        return boot_seconds()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def _look(self) -> tuple[int, float]:
        """How many ranges it has, and the longest lease of its members."""
        names = self.names
        try:
            stored = map_from_configmap(self.api.get(CONFIG_MAPS, names.namespace, names.map))
            leases = self.api.list(LEASES, names.namespace, labels=names.selector(Kind.MEMBER))
        except NotFound:
            stored, leases = None, []
        except (ApiError, ShardError) as error:
            raise TargetFailed(f"the records of {names.fleet} in {names.namespace} cannot be read: {error}") from error
        if stored is None:
            raise TargetFailed(f"there is no fleet {names.fleet} in {names.namespace}: it has no map {names.map}")
        members = [member_record_from_lease(each) for each in leases]
        return len(stored.map.targets), max((each.lease_seconds for each in members if each is not None), default=8.0)


async def listed(watched: WatchedRecords, seconds: float) -> None:
    """Returns once its records are. Raises TargetFailed where they are not by then."""
    try:
        async with asyncio.timeout(seconds):
            await watched.synced.wait()
    except TimeoutError:
        why = watched.trouble() or "no answer"
        raise TargetFailed(f"the fleet's records cannot be read within {seconds:g} s: {why}") from None
