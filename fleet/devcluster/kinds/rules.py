"""How the storage of each built-in resource behaves where discovery and OpenAPI do not tell.

From the strategies in kubernetes/pkg/registry/*/*/strategy.go and storage.go; the contract history
`rules_of_every_kind` holds them against a real server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

_EVENT_FIELDS = (
    *("involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid"),
    *("involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath"),
    *("reason", "reportingComponent", "source", "type"),
)
_NEW_EVENT_FIELDS = (
    *("regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid", "regarding.apiVersion"),
    *("regarding.resourceVersion", "regarding.fieldPath", "reason", "reportingController", "type"),
)
_POD_FIELDS = (
    *("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork"),
    *("status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName"),
)


class Rules(msgspec.Struct, frozen=True):
    """Of one resource; see ResourceType."""

    generation: bool = False
    unconditional_update: bool = True
    create_on_update: bool = False
    returns_deleted: bool = False
    selectable: tuple[str, ...] = ()
    names: str = "subdomain"


_CAREFUL = Rules(unconditional_update=False)
_CAREFUL_COUNTED = Rules(unconditional_update=False, generation=True)
_COUNTED = Rules(generation=True)
_RETURNED = Rules(returns_deleted=True)
_ROLE = Rules(create_on_update=True, names="path")
PLAIN: Final = Rules()

RULES: Final[Mapping[tuple[str, str], Rules]] = {
    ("", "endpoints"): Rules(create_on_update=True),
    ("", "events"): Rules(create_on_update=True, selectable=_EVENT_FIELDS),
    ("", "limitranges"): Rules(create_on_update=True),
    ("", "namespaces"): Rules(returns_deleted=True, selectable=("status.phase",), names="label"),
    ("", "nodes"): Rules(selectable=("spec.unschedulable",)),
    ("", "persistentvolumeclaims"): _RETURNED,
    ("", "persistentvolumes"): _RETURNED,
    ("", "pods"): Rules(generation=True, returns_deleted=True, selectable=_POD_FIELDS),
    ("", "podtemplates"): Rules(generation=True, returns_deleted=True),
    ("", "replicationcontrollers"): Rules(generation=True, selectable=("status.replicas",)),
    ("", "resourcequotas"): _RETURNED,
    ("", "secrets"): Rules(selectable=("type",)),
    ("", "serviceaccounts"): _RETURNED,
    ("", "services"): Rules(
        create_on_update=True, returns_deleted=True, selectable=("spec.clusterIP", "spec.type"), names="label"
    ),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"): _CAREFUL_COUNTED,
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"): _CAREFUL_COUNTED,
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): _CAREFUL_COUNTED,
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"): _CAREFUL_COUNTED,
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"): _CAREFUL_COUNTED,
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): _CAREFUL_COUNTED,
    ("apiextensions.k8s.io", "customresourcedefinitions"): _CAREFUL_COUNTED,
    ("apiregistration.k8s.io", "apiservices"): _CAREFUL,
    ("apps", "daemonsets"): _COUNTED,
    ("apps", "deployments"): _COUNTED,
    ("apps", "replicasets"): _COUNTED,
    ("apps", "statefulsets"): _COUNTED,
    ("autoscaling", "horizontalpodautoscalers"): _COUNTED,
    ("batch", "cronjobs"): _COUNTED,
    ("batch", "jobs"): Rules(generation=True, selectable=("status.successful",)),
    ("certificates.k8s.io", "certificatesigningrequests"): Rules(selectable=("spec.signerName",), names="path"),
    ("certificates.k8s.io", "clustertrustbundles"): Rules(unconditional_update=False, selectable=("spec.signerName",)),
    ("certificates.k8s.io", "podcertificaterequests"): Rules(
        unconditional_update=False, selectable=("spec.signerName", "spec.podName", "spec.nodeName")
    ),
    ("coordination.k8s.io", "leases"): Rules(unconditional_update=False, create_on_update=True),
    ("discovery.k8s.io", "endpointslices"): _COUNTED,
    ("events.k8s.io", "events"): Rules(create_on_update=True, selectable=_NEW_EVENT_FIELDS),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"): _COUNTED,
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): _COUNTED,
    ("networking.k8s.io", "ingressclasses"): _COUNTED,
    ("networking.k8s.io", "ingresses"): _COUNTED,
    ("networking.k8s.io", "networkpolicies"): _COUNTED,
    ("node.k8s.io", "runtimeclasses"): Rules(unconditional_update=False, create_on_update=True),
    ("policy", "poddisruptionbudgets"): _CAREFUL_COUNTED,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): _ROLE,
    ("rbac.authorization.k8s.io", "clusterroles"): _ROLE,
    ("rbac.authorization.k8s.io", "rolebindings"): _ROLE,
    ("rbac.authorization.k8s.io", "roles"): _ROLE,
    ("resource.k8s.io", "deviceclasses"): Rules(generation=True, returns_deleted=True),
    ("resource.k8s.io", "devicetaintrules"): Rules(generation=True, returns_deleted=True),
    ("resource.k8s.io", "resourceclaims"): _RETURNED,
    ("resource.k8s.io", "resourceclaimtemplates"): _RETURNED,
    ("resource.k8s.io", "resourceslices"): Rules(
        generation=True, returns_deleted=True, selectable=("spec.nodeName", "spec.driver", "spec.pool.name")
    ),
    ("scheduling.k8s.io", "priorityclasses"): _COUNTED,
    ("storage.k8s.io", "csidrivers"): Rules(unconditional_update=False, returns_deleted=True),
    ("storage.k8s.io", "csinodes"): Rules(unconditional_update=False, returns_deleted=True),
    ("storage.k8s.io", "csistoragecapacities"): _CAREFUL,
    ("storage.k8s.io", "storageclasses"): _RETURNED,
    ("storage.k8s.io", "volumeattachments"): Rules(unconditional_update=False, returns_deleted=True),
    ("storage.k8s.io", "volumeattributesclasses"): _RETURNED,
    ("storagemigration.k8s.io", "storageversionmigrations"): _CAREFUL,
}
"""By group and plural; a resource that is not here is plain."""

UNSERVED_SUBRESOURCES: Final = frozenset({"approval", "ephemeralcontainers", "resize"})
"""Those of built-in resources that the server does not answer; discovery leaves them out."""

VIRTUAL: Final = frozenset(
    {
        ("authentication.k8s.io", "selfsubjectreviews"),
        ("authentication.k8s.io", "tokenreviews"),
        ("authorization.k8s.io", "localsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
    }
)
"""Resources that are answered without being stored, by group and plural."""
