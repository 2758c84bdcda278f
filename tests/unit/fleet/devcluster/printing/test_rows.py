from __future__ import annotations

from typing import Any

import pytest

from fleet.devcluster.printing.columns import columns_of, declared_columns
from fleet.devcluster.printing.durations import Ages
from fleet.devcluster.printing.pods import pod, pod_conditions
from fleet.devcluster.printing.rows import PRINTERS, printer_of
from shards.objects import Object

NOW = 1_000_000_000.0
BORN = "2001-09-09T01:45:40Z"  # a minute before


def row(key: str, obj: Object) -> list[Any]:
    metadata = {"name": "one", "creationTimestamp": BORN, **obj.get("metadata", {})}
    return printer_of(key)({**obj, "metadata": metadata}, Ages(NOW))


def container(**state: Any) -> Object:
    return {"name": "c", "restartCount": 0, "ready": False, "state": state}


def a_pod(phase: str, *containers: Object, **more: Any) -> Object:
    spec = {"containers": [{"name": "c"} for _ in containers] or [{"name": "c"}], **more.pop("spec", {})}
    status = {"phase": phase, "containerStatuses": list(containers), **more.pop("status", {})}
    return {"metadata": {"name": "one", "creationTimestamp": BORN, **more}, "spec": spec, "status": status}


READY = {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Initialized", "status": "True"}]}
RUNNING = {"name": "c", "restartCount": 0, "ready": True, "state": {"running": {}}}
CRASHED = {
    "name": "c",
    "restartCount": 4,
    "ready": False,
    "state": {"waiting": {"reason": "CrashLoopBackOff"}},
    "lastState": {"terminated": {"exitCode": 1, "finishedAt": BORN}},
}


@pytest.mark.parametrize(
    ("obj", "shown"),
    [
        (a_pod("Pending"), ["0/1", "Pending", "0"]),
        (a_pod("Running", RUNNING, status=READY), ["1/1", "Running", "0"]),
        (a_pod("Running", CRASHED), ["0/1", "CrashLoopBackOff", "4 (60s ago)"]),
        (a_pod("Failed", container(terminated={"exitCode": 3})), ["0/1", "ExitCode:3", "0"]),
        (a_pod("Failed", container(terminated={"exitCode": 0, "signal": 9})), ["0/1", "Signal:9", "0"]),
        (a_pod("Succeeded", container(terminated={"exitCode": 0, "reason": "Completed"})), ["0/1", "Completed", "0"]),
        (a_pod("Running", RUNNING, deletionTimestamp=BORN), ["1/1", "Terminating", "0"]),
        (a_pod("Running", RUNNING, deletionTimestamp=BORN, status={"reason": "NodeLost"}), ["1/1", "Unknown", "0"]),
        (
            a_pod("Pending", status={"conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]}),
            ["0/1", "SchedulingGated", "0"],
        ),
        (
            a_pod(
                "Pending",
                spec={"initContainers": [{"name": "i"}, {"name": "j"}]},
                status={"initContainerStatuses": [container(terminated={"exitCode": 0}), container(running={})]},
            ),
            ["0/1", "Init:1/2", "0"],
        ),
        (
            a_pod(
                "Pending",
                spec={"initContainers": [{"name": "c"}]},
                status={"initContainerStatuses": [container(waiting={"reason": "ImagePullBackOff"})]},
            ),
            ["0/1", "Init:ImagePullBackOff", "0"],
        ),
        (
            a_pod(
                "Running",
                RUNNING,
                spec={"initContainers": [{"name": "s", "restartPolicy": "Always"}]},
                status={**READY, "initContainerStatuses": [{**RUNNING, "name": "s", "started": True}]},
            ),
            ["2/2", "Running", "0"],
        ),
    ],
)
def test_a_pod_shows_what_its_containers_do(obj: Object, shown: list[str]) -> None:
    assert pod(obj, Ages(NOW)) == ["one", *shown, "60s", "<none>", "<none>", "<none>", "<none>"]


def test_a_pod_that_has_ended_is_marked() -> None:
    assert [each["reason"] for each in pod_conditions(a_pod("Failed"))] == ["Failed"]
    assert pod_conditions(a_pod("Running")) == []


TEMPLATE = {"spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "y"}]}}
SELECTOR = {"matchLabels": {"b": "2", "a": "1"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]}


@pytest.mark.parametrize(
    ("key", "obj", "cells"),
    [
        (
            "apps/v1/deployments",
            {
                "spec": {"replicas": 3, "template": TEMPLATE, "selector": SELECTOR},
                "status": {"readyReplicas": 2, "updatedReplicas": 1, "availableReplicas": 2},
            },
            ["one", "2/3", 1, 2, "60s", "a,b", "x,y", "a=1,b=2,c"],
        ),
        ("apps/v1/statefulsets", {"spec": {"replicas": 3}, "status": {}}, ["one", "0/3", "60s", "", ""]),
        (
            "batch/v1/jobs",
            {"spec": {"completions": 2}, "status": {"succeeded": 1, "startTime": BORN}},
            ["one", "Running", "1/2", "60s", "60s", "", "", "<none>"],
        ),
        (
            "batch/v1/jobs",
            {
                "spec": {"parallelism": 2},
                "status": {
                    "startTime": BORN,
                    "completionTime": "2001-09-09T01:45:45Z",
                    "conditions": [{"type": "Complete", "status": "True"}],
                },
            },
            ["one", "Complete", "0/1 of 2", "5s", "60s", "", "", "<none>"],
        ),
        (
            "batch/v1/cronjobs",
            {"spec": {"schedule": "* * * * *", "suspend": False}, "status": {"lastScheduleTime": BORN}},
            ["one", "* * * * *", "<none>", "False", 0, "60s", "60s", "", "", "<none>"],
        ),
        (
            "v1/services",
            {
                "spec": {
                    "type": "LoadBalancer",
                    "clusterIPs": ["10.0.0.1"],
                    "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}],
                    "selector": {"app": "x"},
                },
                "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}, {"hostname": "lb.example"}]}},
            },
            ["one", "LoadBalancer", "10.0.0.1", "1.2.3.4,lb.example", "80:30080/TCP,53/UDP", "60s", "app=x"],
        ),
        (
            "v1/services",
            {"spec": {"type": "LoadBalancer"}},
            ["one", "LoadBalancer", "<none>", "<pending>", "<none>", "60s", "<none>"],
        ),
        (
            "networking.k8s.io/v1/ingresses",
            {"spec": {"rules": [{"host": f"{each}.example"} for each in "abcde"], "tls": [{}]}},
            ["one", "<none>", "a.example,b.example,c.example + 2 more...", "", "80, 443", "60s"],
        ),
        (
            "v1/nodes",
            {
                "metadata": {"labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge"}},
                "spec": {"unschedulable": True},
                "status": {
                    "conditions": [{"type": "Ready", "status": "False"}],
                    "addresses": [{"type": "InternalIP", "address": "10.0.0.9"}],
                    "nodeInfo": {"kubeletVersion": "v1.37.0", "kernelVersion": "6.1", "architecture": "arm64"},
                },
            },
            [
                *("one", "NotReady,SchedulingDisabled", "edge,worker", "60s", "v1.37.0"),
                *("10.0.0.9", "<none>", "<unknown>", "6.1 (arm64)", "<unknown>"),
            ],
        ),
        (
            "v1/persistentvolumeclaims",
            {
                "spec": {"volumeName": "pv", "storageClassName": "fast", "volumeMode": "Filesystem"},
                "status": {
                    "phase": "Bound",
                    "capacity": {"storage": "1Gi"},
                    "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
                },
            },
            ["one", "Bound", "pv", "1Gi", "RWO,RWX", "fast", "<unset>", "60s", "Filesystem"],
        ),
        (
            "v1/resourcequotas",
            {"status": {"hard": {"pods": "10", "limits.cpu": "4"}, "used": {"pods": "3"}}},
            ["one", "pods: 3/10", "limits.cpu: 0/4", "60s"],
        ),
        (
            "v1/events",
            {
                "involvedObject": {"kind": "Pod", "name": "web"},
                "type": "Normal",
                "reason": "Started",
                "message": " up ",
                "source": {"component": "kubelet", "host": "n1"},
                "firstTimestamp": BORN,
                "count": 2,
            },
            ["60s", "Normal", "Started", "pod/web", "", "kubelet, n1", "up", "60s", 2, "one"],
        ),
        ("example.com/v1/unknowns", {}, ["one", "60s"]),
    ],
)
def test_a_row_shows_what_kubectl_does(key: str, obj: Object, cells: list[Any]) -> None:
    assert row(key, obj) == cells


@pytest.mark.parametrize("key", sorted(PRINTERS))
def test_every_printer_fills_its_columns_even_of_an_empty_object(key: str) -> None:
    assert key in declared_columns()
    assert len(PRINTERS[key]({"metadata": {}}, Ages(NOW))) == len(columns_of(key))
