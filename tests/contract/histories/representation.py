"""What an Accept header makes of answers: tables, partial metadata, YAML, and refusals."""

from __future__ import annotations

from tests.contract.histories.objects import CONFIG_MAPS, DEFINITIONS, config_map
from tests.contract.transcripts import JSON, MERGE, PARTIAL, PARTIAL_LIST, TABLE, YAML, Document, Stage

GADGETS = "printing.shardfleet.dev/v1/gadgets"
_BETA = "application/json;as=Table;g=meta.k8s.io;v=v1beta1"


async def accept_headers(stage: Stage) -> None:
    collection, one = stage.path(CONFIG_MAPS), stage.path(CONFIG_MAPS, "one")
    await stage.ask("POST", collection, config_map("one"))
    for accept in (
        "",
        "*/*",
        "application/*",
        "application/json;charset=utf-8",
        "application/json;q=0",
        "application/json;stream=watch",
        "application/json;stream=other",
        "text/html",
        "text/html, application/json;q=0.5",
        "application/cbor",
        "application/cbor, application/json",
        "application/json;as=Table",
        "application/json;as=Table;g=meta.k8s.io;v=v2",
        "application/json;as=Nothing;g=meta.k8s.io;v=v1",
        f"application/json;as=Nothing;g=meta.k8s.io;v=v1, {JSON}",
        f"{TABLE}, {JSON}",
        f"{TABLE};q=0.1, {JSON}",
        f"application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1, {JSON}",
        YAML,
        _BETA,
        PARTIAL,
        PARTIAL_LIST,
    ):
        await stage.ask("GET", one, accept=accept)
    for accept in (PARTIAL, PARTIAL_LIST, TABLE, "text/html", YAML, "application/json;as=Nothing;g=meta.k8s.io;v=v1"):
        await stage.ask("GET", collection, query={"fieldSelector": "metadata.name=one"}, accept=accept)
    for path in ("/version", "/healthz", "/api/v1/nothing"):
        await stage.ask("GET", path, accept="text/html", quiet=path == "/version")


async def written_as_metadata_and_tables(stage: Stage) -> None:
    collection, one = stage.path(CONFIG_MAPS), stage.path(CONFIG_MAPS, "one")
    await stage.ask("POST", collection, config_map("one"), accept=PARTIAL)
    await stage.ask("POST", collection, config_map("two"), accept=TABLE)
    await stage.ask("POST", collection, config_map("three"), accept=PARTIAL_LIST)
    await stage.ask("POST", collection, config_map("four"), accept="text/html")
    await stage.ask("POST", collection, config_map("one"), accept=TABLE)
    await stage.ask("PUT", one, config_map("one", {"a": "2"}), accept=PARTIAL)
    await stage.ask("PATCH", one, {"data": {"b": "3"}}, content_type=MERGE, accept=TABLE)
    await stage.ask("PATCH", one, {"data": {"b": "4"}}, content_type=MERGE, accept=YAML)
    await stage.ask("GET", stage.path(CONFIG_MAPS, "none"), accept=TABLE)
    await stage.ask("GET", stage.path(CONFIG_MAPS, "none"), accept=YAML)
    await stage.ask("DELETE", one, accept=TABLE)
    await stage.ask("DELETE", collection, accept=PARTIAL_LIST)


async def objects_in_tables(stage: Stage) -> None:
    collection = stage.path(CONFIG_MAPS)
    await stage.ask("POST", collection, config_map("one", labels={"app": "x"}))
    await stage.ask("POST", collection, config_map("two", labels={"app": "x"}))
    for include in ("", "None", "Metadata", "Object", "Other"):
        query = {"labelSelector": "app=x", "includeObject": include}
        await stage.ask("GET", collection, query=query, accept=TABLE)
        await stage.ask("GET", stage.path(CONFIG_MAPS, "one"), query={"includeObject": include}, accept=TABLE)
    page = await stage.ask("GET", collection, query={"limit": "1"}, accept=TABLE)
    rest = {"limit": "1", "continue": page["metadata"]["continue"]}
    await stage.ask("GET", collection, query=rest, accept=PARTIAL_LIST)


async def watched_as_metadata_and_tables(stage: Stage) -> None:
    collection, one = stage.path(CONFIG_MAPS), stage.path(CONFIG_MAPS, "one")
    made = await stage.ask("POST", collection, config_map("one"))
    query = {"resourceVersion": made["metadata"]["resourceVersion"]}
    streaming = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    async with (
        stage.watch(collection, query, accept=PARTIAL) as partial,
        stage.watch(collection, {**query, "includeObject": "None"}, accept=TABLE) as table,
        stage.watch(collection, {**streaming, "includeObject": "None"}, accept=TABLE) as initial_table,
        stage.watch(collection, streaming, accept=PARTIAL) as initial_partial,
    ):
        await initial_table(2)
        await initial_partial(2)
        await stage.ask("PATCH", one, {"data": {"b": "3"}}, content_type=MERGE)
        await stage.ask("DELETE", one)
        await partial(2)
        await table(2)
    for accept in (PARTIAL_LIST, YAML, "text/html", "application/json;as=Nothing;g=meta.k8s.io;v=v1"):
        await stage.ask("GET", collection, query={"watch": "true", "timeoutSeconds": "1"}, accept=accept)
    wrong = {"watch": "true", "timeoutSeconds": "1", "includeObject": "Other"}
    await stage.ask("GET", collection, query=wrong, accept=TABLE)


def _gadgets() -> Document:
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Share", "type": "number", "jsonPath": ".spec.share", "priority": 1},
        {"name": "Open", "type": "boolean", "jsonPath": ".spec.open", "description": "Whether it is open."},
        {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
        {"name": "First", "type": "string", "jsonPath": ".spec.tags[0]"},
        {"name": "All", "type": "string", "jsonPath": ".spec.tags"},
        {"name": "Text", "type": "string", "jsonPath": ".spec.size"},
        {"name": "Wrong", "type": "integer", "jsonPath": ".spec.tags"},
        {"name": "Note", "type": "string", "jsonPath": r".metadata.annotations.example\.com/note"},
        {"name": "Since", "type": "date", "jsonPath": ".spec.since", "format": "date-time"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    shared = {"served": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.printing.shardfleet.dev"},
        "spec": {
            "group": "printing.shardfleet.dev",
            "scope": "Namespaced",
            "names": {"plural": "gadgets", "kind": "Gadget", "shortNames": ["gd"]},
            "versions": [
                {"name": "v1", "storage": True, **shared, "additionalPrinterColumns": columns},
                {"name": "v2", "storage": False, **shared},
            ],
        },
    }


async def tables_of_custom_resources(stage: Stage) -> None:
    await stage.ask("POST", DEFINITIONS, _gadgets(), quiet=True)
    collection, one = stage.path(GADGETS), stage.path(GADGETS, "one")
    await stage.until(collection, lambda answer: answer.get("kind") == "GadgetList")
    await stage.ask("GET", collection, accept=TABLE)
    await stage.ask("GET", collection, accept=PARTIAL_LIST)
    body = {
        "kind": "Gadget",
        "apiVersion": "printing.shardfleet.dev/v1",
        "metadata": {"name": "one", "annotations": {"example.com/note": "hello"}},
        "spec": {"size": 3, "share": 0.5, "open": True, "tags": ["a", "b"], "since": "2020-01-01T00:00:00Z"},
        "status": {"conditions": [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]},
    }
    await stage.ask("POST", collection, body)
    empty = {"kind": "Gadget", "apiVersion": "printing.shardfleet.dev/v1", "metadata": {"name": "two"}}
    await stage.ask("POST", collection, {**empty, "spec": {"size": "x", "open": "y", "since": "z", "tags": []}})
    for accept in (TABLE, PARTIAL, PARTIAL_LIST, YAML, "text/html", "application/vnd.kubernetes.protobuf, */*"):
        await stage.ask("GET", collection, query={"includeObject": "None"}, accept=accept)
        await stage.ask("GET", one, query={"includeObject": "None"}, accept=accept)
    await stage.ask(
        "GET", stage.path("printing.shardfleet.dev/v2/gadgets"), query={"includeObject": "None"}, accept=TABLE
    )
    definition = f"{DEFINITIONS}/gadgets.printing.shardfleet.dev"
    await stage.ask("GET", definition, query={"includeObject": "None"}, accept=TABLE)
    async with stage.watch(collection, {"resourceVersion": "0", "includeObject": "None"}, accept=TABLE) as read:
        await read(2)


async def tables_of_built_in_kinds(stage: Stage) -> None:
    """Empty lists show the columns; an object shows the cells."""
    for resource in (
        *("v1/configmaps", "v1/secrets", "v1/serviceaccounts", "v1/services", "v1/pods", "v1/endpoints", "v1/events"),
        *("v1/persistentvolumeclaims", "v1/resourcequotas", "v1/limitranges", "v1/replicationcontrollers"),
        *("apps/v1/deployments", "apps/v1/replicasets", "apps/v1/statefulsets", "apps/v1/daemonsets"),
        *("apps/v1/controllerrevisions", "batch/v1/jobs", "batch/v1/cronjobs", "networking.k8s.io/v1/ingresses"),
        *("networking.k8s.io/v1/networkpolicies", "policy/v1/poddisruptionbudgets", "v1/podtemplates"),
        *("rbac.authorization.k8s.io/v1/roles", "rbac.authorization.k8s.io/v1/rolebindings"),
        *("coordination.k8s.io/v1/leases", "discovery.k8s.io/v1/endpointslices"),
        "autoscaling/v2/horizontalpodautoscalers",
    ):
        await stage.ask("GET", stage.path(resource), query={"includeObject": "None", "limit": "1"}, accept=TABLE)


async def cells_of_built_in_kinds(stage: Stage) -> None:
    for resource, body in _printed():
        await stage.ask("POST", stage.path(resource), body, query={"includeObject": "None"}, accept=TABLE)
    namespace = stage.cluster_path("v1/namespaces", stage.namespace)
    await stage.ask("GET", namespace, query={"includeObject": "None"}, accept=TABLE)
    await stage.ask("GET", namespace, accept=PARTIAL)


def _printed() -> list[tuple[str, Document]]:
    rules = [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]
    subjects = [
        {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "ann"},
        {"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "staff"},
        {"kind": "ServiceAccount", "namespace": "other", "name": "bot"},
    ]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    addresses = [{"ip": f"10.0.0.{index}"} for index in range(1, 5)]
    slices: Document = {
        "metadata": {"name": "slice"},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": 80, "protocol": "TCP"}],
        "endpoints": [{"addresses": [each["ip"]]} for each in addresses],
    }
    return [
        ("v1/configmaps", {"metadata": {"name": "one"}, "data": {"a": "1", "b": "2"}, "binaryData": {"c": "AA=="}}),
        ("v1/secrets", {"metadata": {"name": "one"}, "data": {"a": "AA=="}}),
        ("v1/serviceaccounts", {"metadata": {"name": "one"}}),
        ("coordination.k8s.io/v1/leases", {"metadata": {"name": "one"}, "spec": {"holderIdentity": "me"}}),
        ("coordination.k8s.io/v1/leases", {"metadata": {"name": "two"}}),
        ("rbac.authorization.k8s.io/v1/roles", {"metadata": {"name": "reader"}, "rules": rules}),
        (
            "rbac.authorization.k8s.io/v1/rolebindings",
            {"metadata": {"name": "readers"}, "roleRef": role, "subjects": subjects},
        ),
        (
            "v1/endpoints",
            {"metadata": {"name": "web"}, "subsets": [{"addresses": addresses, "ports": [{"port": 80}]}]},
        ),
        ("discovery.k8s.io/v1/endpointslices", slices),
        ("policy/v1/poddisruptionbudgets", {"metadata": {"name": "one"}, "spec": {"minAvailable": "50%"}}),
        (
            "networking.k8s.io/v1/networkpolicies",
            {"metadata": {"name": "one"}, "spec": {"podSelector": {"matchLabels": {"b": "c", "a": "b"}}}},
        ),
        ("v1/limitranges", {"metadata": {"name": "one"}, "spec": {"limits": []}}),
        *_printed_workloads(),
    ]


def _printed_workloads() -> list[tuple[str, Document]]:
    labels = {"app": "web"}
    containers = [{"name": "a", "image": "x"}, {"name": "b", "image": "y"}]
    template: Document = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    once = {"spec": {"containers": containers, "restartPolicy": "Never"}}
    selected = {"selector": {"matchLabels": labels}, "template": template}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    metrics = [
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}},
        {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}},
        {"type": "Pods", "pods": {"metric": {"name": "x"}, "target": {"type": "AverageValue", "averageValue": "5"}}},
    ]
    hosts = [
        {
            "host": f"{each}.example",
            "http": {"paths": [{"pathType": "Prefix", "path": "/", "backend": {"service": port}}]},
        }
        for each in "abcd"
        for port in ({"name": "web", "port": {"number": 80}},)
    ]
    named: Document = {"metadata": {"name": "web"}}
    return [
        ("apps/v1/deployments", {**named, "spec": {"replicas": 3, **selected}}),
        ("apps/v1/replicasets", {**named, "spec": {"replicas": 2, **selected}}),
        ("apps/v1/statefulsets", {**named, "spec": {"serviceName": "web", **selected}}),
        ("apps/v1/daemonsets", {**named, "spec": selected}),
        (
            "batch/v1/cronjobs",
            {**named, "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": once}}}},
        ),
        ("v1/services", {**named, "spec": {"type": "ExternalName", "externalName": "web.example"}}),
        ("networking.k8s.io/v1/ingresses", {**named, "spec": {"rules": hosts}}),
        (
            "autoscaling/v2/horizontalpodautoscalers",
            {**named, "spec": {"scaleTargetRef": target, "maxReplicas": 4, "metrics": metrics}},
        ),
    ]


HISTORIES = (
    accept_headers,
    written_as_metadata_and_tables,
    objects_in_tables,
    watched_as_metadata_and_tables,
    tables_of_custom_resources,
    tables_of_built_in_kinds,
    cells_of_built_in_kinds,
)
