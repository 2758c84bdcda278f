from __future__ import annotations

import pytest

from chaos.targets import kube_pods
from chaos.targets.kube_pods import PODS, KubePods
from chaos.targets.target import TargetFailed
from fleet.records.lease import Times
from fleet.records.lease_records import lease_from_member
from fleet.records.object_names import LEASES, Names
from fleet.records.record import Incarnation, MemberRecord
from shards.objects import Resource
from tests.unit.chaos.targets.own_paper import ShelfApi

NAMES = Names("web", "default")
TIMES = Times("2026-12-01T00:00:00.000000Z", "2026-12-01T00:00:00.000000Z")


class Cluster(ShelfApi):
    """With the pod web-0, whose worker has joined."""

    def __init__(self) -> None:
        super().__init__()
        self.make("one")
        self.join("one")

    def make(self, uid: str) -> None:
        self.put(PODS, "web-0", {"metadata": {"name": "web-0", "uid": uid}})

    def join(self, uid: str) -> None:
        record = MemberRecord("web-0-0", Incarnation(f"{uid}.7", 1), 3, 8.0, pod="web-0")
        name = NAMES.member("web-0-0")
        self.objects[LEASES, name] = lease_from_member(NAMES, record, replaces="", times=TIMES)

    def delete_at_once(self, resource: Resource, namespace: str, name: str) -> None:
        self.delete(resource, namespace, name)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr(kube_pods, "_BACK_SECONDS", 0.0)
    monkeypatch.setattr(kube_pods, "_LOOK_SECONDS", 0.0)
    return Cluster()


def lost(cluster: Cluster) -> KubePods:
    pods = KubePods(cluster, NAMES)  # type: ignore[arg-type]
    assert [end.member for end in (pods.kill_pod("web-0"), *pods.ends)] == ["", "", "web-0-0"]
    return pods


def test_a_pod_that_nobody_has_made_again_is_not_back(cluster: Cluster) -> None:
    pods = lost(cluster)
    with pytest.raises(TargetFailed, match=r"the pod web-0 is not back after 0 s: nobody has made it again"):
        pods.come_back("web-0")


def test_a_pod_whose_image_cannot_be_pulled_is_not_back(cluster: Cluster) -> None:
    pods = lost(cluster)
    cluster.make("two")
    with pytest.raises(TargetFailed, match="no worker of it has joined the fleet"):
        pods.come_back("web-0")


def test_a_pod_is_back_once_its_worker_has_joined(cluster: Cluster) -> None:
    pods = lost(cluster)
    cluster.make("two")
    cluster.join("two")
    pods.come_back("web-0")


def test_what_comes_next_waits_for_a_pod_that_was_told_to_end(cluster: Cluster) -> None:
    """Or a rolling restart of somebody's fleet would take all pods away at one time."""
    pods = KubePods(cluster, NAMES)  # type: ignore[arg-type]
    pods.stop("web-0")
    cluster.make("two")
    with pytest.raises(TargetFailed, match="no worker of it has joined the fleet"):
        pods.come_back("web-0")
