"""Which function prints a row of which built-in kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fleet.devcluster.printing import basics, networks, others, pods, workloads
from fleet.devcluster.printing.durations import Ages
from fleet.devcluster.printing.pods import Cells
from shards.objects import Object

Print = Callable[[Object, Ages], Cells]

_RBAC = "rbac.authorization.k8s.io/v1"
_ADMISSION = "admissionregistration.k8s.io/v1"

PRINTERS: Mapping[str, Print] = {
    "v1/configmaps": basics.config_map,
    "v1/endpoints": networks.endpoints,
    "v1/events": basics.event,
    "v1/limitranges": basics.name_and_date,
    "v1/namespaces": basics.namespace,
    "v1/nodes": basics.node,
    "v1/persistentvolumeclaims": basics.persistent_volume_claim,
    "v1/persistentvolumes": basics.persistent_volume,
    "v1/pods": pods.pod,
    "v1/podtemplates": workloads.pod_template,
    "v1/replicationcontrollers": workloads.replication_controller,
    "v1/resourcequotas": basics.resource_quota,
    "v1/secrets": basics.secret,
    "v1/serviceaccounts": basics.name_and_age,
    "v1/services": networks.service,
    "apps/v1/controllerrevisions": workloads.controller_revision,
    "apps/v1/daemonsets": workloads.daemon_set,
    "apps/v1/deployments": workloads.deployment,
    "apps/v1/replicasets": workloads.replica_set,
    "apps/v1/statefulsets": workloads.stateful_set,
    "events.k8s.io/v1/events": basics.event,
    "batch/v1/cronjobs": workloads.cron_job,
    "batch/v1/jobs": workloads.job,
    "networking.k8s.io/v1/ingressclasses": networks.ingress_class,
    "networking.k8s.io/v1/ingresses": networks.ingress,
    "networking.k8s.io/v1/networkpolicies": networks.network_policy,
    "policy/v1/poddisruptionbudgets": workloads.disruption_budget,
    f"{_RBAC}/clusterrolebindings": basics.binding,
    f"{_RBAC}/clusterroles": basics.name_and_date,
    f"{_RBAC}/rolebindings": basics.binding,
    f"{_RBAC}/roles": basics.name_and_date,
    "storage.k8s.io/v1/storageclasses": basics.storage_class,
    "storage.k8s.io/v1/csistoragecapacities": basics.name_and_date,
    f"{_ADMISSION}/mutatingwebhookconfigurations": basics.webhooks,
    f"{_ADMISSION}/validatingwebhookconfigurations": basics.webhooks,
    "apiextensions.k8s.io/v1/customresourcedefinitions": basics.definition,
    "scheduling.k8s.io/v1/priorityclasses": basics.priority_class,
    "coordination.k8s.io/v1/leases": basics.lease,
    "node.k8s.io/v1/runtimeclasses": basics.runtime_class,
    "discovery.k8s.io/v1/endpointslices": networks.endpoint_slice,
    "autoscaling/v1/horizontalpodautoscalers": others.autoscaler_of_v1,
    "autoscaling/v2/horizontalpodautoscalers": others.autoscaler,
    "certificates.k8s.io/v1/certificatesigningrequests": others.signing_request,
    "networking.k8s.io/v1/servicecidrs": others.service_cidr,
    "storage.k8s.io/v1/csinodes": others.storage_node,
    "storage.k8s.io/v1/volumeattributesclasses": others.attributes_class,
    "storage.k8s.io/v1/volumeattachments": others.attachment,
    f"{_ADMISSION}/validatingadmissionpolicies": others.admission_policy,
    f"{_ADMISSION}/mutatingadmissionpolicies": others.admission_policy,
    "resource.k8s.io/v1/deviceclasses": basics.name_and_age,
    "resource.k8s.io/v1/resourceclaimtemplates": basics.name_and_age,
    "autoscaling/v1/scale": workloads.scale,
}


def printer_of(key: str) -> Print:
    """key: "apps/v1/deployments". A kind without a table of its own shows name and age."""
    return PRINTERS.get(key, basics.name_and_age)
