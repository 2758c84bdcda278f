"""The pods of somebody's fleet in a cluster."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from chaos.targets.api import BlockingApi
from chaos.targets.reach import refuse
from chaos.targets.target import End, TargetFailed
from fleet.records.lease_records import member_record_from_lease
from fleet.records.object_names import LEASES, Kind, Names
from fleet.records.record import MemberRecord
from shards.clock import boot_seconds
from shards.errors import NotFound
from shards.objects import Object, Resource

PODS = Resource.parse("v1/pods")
_END_SECONDS = 120.0
_BACK_SECONDS = 120.0
_LOOK_SECONDS = 0.5


class KubePods:
    """What `chaos.targets.target.Pods` asks, of the pods that the fleet's records name."""

    def __init__(self, api: BlockingApi, names: Names) -> None:
        self._api = api
        self._names = names
        self._ended: list[End] = []
        self._uids: dict[str, str] = {}
        """Of the pods that were killed, as they were then."""

    @property
    def ends(self) -> Sequence[End]:
        return tuple(self._ended)

    def names(self) -> list[str]:
        named = {record.pod for record in self._records() if record.pod}
        return sorted(pod for pod in named if self._find(pod) is not None)

    def members(self) -> Mapping[str, tuple[str, str]]:
        alive = set(self.names())
        return {
            record.name: (record.pod, f"worker-{record.name.rpartition('-')[2]}")
            for record in self._records()
            if record.pod in alive
        }

    def coordinator(self) -> str:
        holder = str(
            self._api.get(LEASES, self._names.namespace, self._names.coordinator)["spec"].get("holderIdentity")
        )
        for pod in self.names():
            found = self._find(pod)
            if found is not None and holder.startswith(found["metadata"]["uid"]):
                return pod
        raise TargetFailed(f"{holder} is in office, which is none of the pods {', '.join(self.names()) or '(none)'}")

    def start(self, pod: str, *, revision: str = "") -> None:
        refuse(f"starting the pod {pod}, which is its StatefulSet's business,")

    def stop(self, pod: str) -> None:
        before = self._existing(pod)
        self._api.delete(PODS, self._names.namespace, pod)
        give_up_at = time.monotonic() + _END_SECONDS
        while (found := self._find(pod)) is not None and found["metadata"]["uid"] == before["metadata"]["uid"]:
            if time.monotonic() > give_up_at:
                raise TargetFailed(f"the pod {pod} has not ended after {_END_SECONDS:g} s")
            time.sleep(_LOOK_SECONDS)

    def come_back(self, pod: str) -> None:
        """Once a worker of it has joined the fleet: that its object is there says nothing of its processes."""
        lost = self._uids.get(pod, "")
        give_up_at = time.monotonic() + _BACK_SECONDS
        while (found := self._find(pod)) is None or found["metadata"]["uid"] == lost or not self._joined(pod, found):
            if time.monotonic() > give_up_at:
                made = found is not None and found["metadata"]["uid"] != lost
                trouble = "no worker of it has joined the fleet" if made else "nobody has made it again"
                raise TargetFailed(f"the pod {pod} is not back after {_BACK_SECONDS:g} s: {trouble}")
            time.sleep(_LOOK_SECONDS)

    def _joined(self, pod: str, found: Object) -> bool:
        uid = found["metadata"]["uid"]
        return any(
            each.pod == pod and each.holder is not None and each.holder.supervisor.startswith(uid)
            for each in self._records()
        )

    def kill_pod(self, pod: str) -> End:
        self._uids[pod] = self._existing(pod)["metadata"]["uid"]
        end = End(pod, "supervisor", "", 0, boot_seconds())
        dying = [End(pod, at[1], member, 0, end.at) for member, at in self.members().items() if at[0] == pod]
        self._api.delete_at_once(PODS, self._names.namespace, pod)
        self._ended += [end, *dying]
        return end

    def kill(self, pod: str, child: str) -> End:
        refuse(f"{child} of {pod}")

    def pause(self, pod: str, child: str) -> None:
        refuse(f"{child} of {pod}")

    def resume(self, pod: str, child: str) -> None: ...

    def resume_all(self) -> None: ...

    def _records(self) -> list[MemberRecord]:
        leases = self._api.list(LEASES, self._names.namespace, labels=self._names.selector(Kind.MEMBER))
        found = (member_record_from_lease(each) for each in leases)
        return [each for each in found if each is not None and each.holder is not None]

    def _find(self, pod: str) -> Object | None:
        try:
            return self._api.get(PODS, self._names.namespace, pod)
        except NotFound:
            return None

    def _existing(self, pod: str) -> Object:
        found = self._find(pod)
        if found is None:
            raise TargetFailed(f"there is no pod {pod}; the fleet has {', '.join(self.names()) or 'none'}")
        return found
