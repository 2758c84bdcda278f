"""What is wrong with a CustomResourceDefinition. Pure.

After apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go. The server keeps what all versions have
in common once, at the top of the spec, and its messages name it there: `spec.validation` instead of
`spec.versions[0].schema`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fleet.devcluster.causes import Cause
from fleet.devcluster.definitions.content import content_causes
from fleet.devcluster.definitions.internal import versions_text
from fleet.devcluster.definitions.rules import rule_causes
from fleet.devcluster.definitions.structural import forbidden, invalid, required, unsupported
from fleet.devcluster.schemas.names import dns1035_faults, subdomain_faults

Spec = Mapping[str, Any]

_HOISTED = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
_PLACES = {"schema": "validation"}
_APPROVAL = "api-approved.kubernetes.io"


def definition_causes(body: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> Iterator[Cause]:
    """old: the definition that an update replaces."""
    spec: Spec = body.get("spec") or {}
    names: Mapping[str, Any] = spec.get("names") or {}
    if old is None:
        wanted, name = f"{names.get('plural', '')}.{spec.get('group', '')}", body["metadata"].get("name", "")
        if name and name != wanted:
            yield invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    yield from _spec_causes(spec)
    if old is not None:
        yield from _immutable_causes(spec, old)
    status = body.get("status") or {}
    yield from _name_causes(status.get("acceptedNames") or {}, "status.acceptedNames")
    yield from _stored_causes(status.get("storedVersions"), spec.get("versions") or ())
    yield from _approval_causes(body, old)
    if spec.get("preserveUnknownFields") and not ((old or {}).get("spec") or {}).get("preserveUnknownFields"):
        why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        yield invalid("spec.preserveUnknownFields", True, why)


def _hoisted(versions: Sequence[Spec]) -> frozenset[str]:
    """Fields that all versions have alike."""
    if not versions:
        return frozenset()
    first = versions[0]
    return frozenset(
        name for name in _HOISTED if all((each.get(name) or None) == (first.get(name) or None) for each in versions)
    )


def _spec_causes(spec: Spec) -> Iterator[Cause]:
    group, versions = spec.get("group", ""), spec.get("versions") or []
    if not group:
        yield required("spec.group")
    elif subdomain_faults(group):
        yield invalid("spec.group", group, ",".join(subdomain_faults(group)))
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")
    scope = spec.get("scope", "")
    if not scope:
        yield required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        yield unsupported("spec.scope", scope, ("Cluster", "Namespaced"))
    for index, version in enumerate(versions):
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            yield required(f"spec.versions[{index}].schema.openAPIV3Schema")
    hoisted = _hoisted(versions)
    for index, version in enumerate(versions):
        yield from _version_causes(version, f"spec.versions[{index}]", hoisted)
    yield from _version_list_causes(spec, hoisted)
    for name in ("plural", "singular", "kind", "listKind"):
        if not (spec.get("names") or {}).get(name):
            yield required(f"spec.names.{name}")
    yield from _name_causes(spec.get("names") or {}, "spec.names")
    if versions:
        shared = {name: versions[0].get(name) for name in hoisted}
        status = any("status" in (each.get("subresources") or {}) for each in versions)
        yield from _content_causes(shared, "spec", status=status, places=_PLACES)
    yield from _conversion_causes(spec)


def _version_causes(version: Spec, path: str, hoisted: frozenset[str]) -> Iterator[Cause]:
    name = version.get("name", "")
    faults = dns1035_faults(name)
    if faults:
        yield invalid(f"{path}.name", name, ",".join(faults))
    warning = version.get("deprecationWarning")
    if warning is not None and not version.get("deprecated"):
        yield invalid(f"{path}.deprecationWarning", warning, "can only be set for deprecated versions")
    elif warning is not None:
        for wrong, why in (
            (len(warning.encode()) > 256, "must be <= 256 characters long"),
            (not warning, "must not be an empty string"),
        ):
            if wrong:
                yield invalid(f"{path}.deprecationWarning", warning, why)
    own = {each: version.get(each) for each in _HOISTED if each not in hoisted}
    status = "status" in (version.get("subresources") or {})
    yield from _content_causes(own, path, status=status, places={})


def _content_causes(content: Spec, path: str, *, status: bool, places: Mapping[str, str]) -> Iterator[Cause]:
    """Rules are compiled only where nothing else is wrong with their schema."""
    place = f"{path}.{places.get('schema', 'schema')}.openAPIV3Schema"
    found = list(content_causes(content, path, status=status, places=places))
    yield from found
    schema = (content.get("schema") or {}).get("openAPIV3Schema")
    if isinstance(schema, Mapping) and not any(each.field.startswith(place) for each in found):
        yield from rule_causes(schema, place)


def _version_list_causes(spec: Spec, hoisted: frozenset[str]) -> Iterator[Cause]:
    versions = spec.get("versions") or []

    def about_all(why: str) -> Cause:
        text = versions_text(spec.get("versions"), hoisted)
        return Cause("FieldValueInvalid", f"Invalid value: {text}: {why}", "spec.versions")

    if len({each.get("name") for each in versions}) != len(versions):
        yield about_all("must contain unique version names")
    if sum(bool(each.get("storage")) for each in versions) != 1:
        yield about_all("must have exactly one version marked as storage version")
    if versions and dns1035_faults(versions[0].get("name", "")):
        name = versions[0].get("name", "")
        if name:
            yield invalid("spec.version", name, ",".join(dns1035_faults(name)))


def _name_causes(names: Spec, path: str) -> Iterator[Cause]:
    for name in ("plural", "singular", "kind", "listKind"):
        text: str = names.get(name) or ""
        kind = name in ("kind", "listKind")
        faults = dns1035_faults(text.lower() if kind else text) if text else []
        if faults:
            prefix = "may have mixed case, but should otherwise match: " if kind else ""
            yield invalid(f"{path}.{name}", text, prefix + ",".join(faults))
    for index, text in enumerate(names.get("shortNames") or ()):
        if dns1035_faults(text):
            yield invalid(f"{path}.shortNames[{index}]", text, ",".join(dns1035_faults(text)))
    if names.get("kind") and names["kind"] == names.get("listKind"):
        yield invalid(f"{path}.listKind", names["listKind"], "kind and listKind may not be the same")
    for index, text in enumerate(names.get("categories") or ()):
        if dns1035_faults(text):
            yield invalid(f"{path}.categories[{index}]", text, ",".join(dns1035_faults(text)))


def _conversion_causes(spec: Spec) -> Iterator[Cause]:
    conversion = spec.get("conversion") or {}
    strategy, path = conversion.get("strategy", ""), "spec.conversion"
    if strategy not in ("", "None") and spec.get("preserveUnknownFields"):
        yield invalid(f"{path}.strategy", strategy, "must be None if spec.preserveUnknownFields is true")
    if conversion and not strategy:
        yield required(f"{path}.strategy")
    elif conversion and strategy not in ("None", "Webhook"):
        yield unsupported(f"{path}.strategy", strategy, ("None", "Webhook"))
    webhook = conversion.get("webhook") or {}
    if strategy == "Webhook":
        if not webhook.get("clientConfig"):
            yield required(f"{path}.webhookClientConfig", "required when strategy is set to Webhook")
        if not webhook.get("conversionReviewVersions"):
            yield required(f"{path}.conversionReviewVersions")
    elif webhook:
        why = "should not be set when strategy is not set to Webhook"
        for name, field in (
            ("clientConfig", "webhookClientConfig"),
            ("conversionReviewVersions", "conversionReviewVersions"),
        ):
            if webhook.get(name):
                yield forbidden(f"{path}.{field}", why)


def _immutable_causes(spec: Spec, old: Mapping[str, Any]) -> Iterator[Cause]:
    before = old["spec"]
    names, names_before = spec.get("names") or {}, before["names"]
    pairs = [("group", spec.get("group", ""), before["group"])]
    pairs.append(("names.plural", names.get("plural", ""), names_before["plural"]))
    if is_established(old):
        pairs.insert(0, ("names.kind", names.get("kind", ""), names_before["kind"]))
        pairs.insert(0, ("scope", spec.get("scope", ""), before["scope"]))
    for field, new, kept in pairs:
        if new != kept:
            yield invalid(f"spec.{field}", new, "field is immutable")


def is_established(definition: Mapping[str, Any]) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def _stored_causes(stored: Sequence[str] | None, versions: Sequence[Spec]) -> Iterator[Cause]:
    path = "status.storedVersions"
    if not stored:
        yield invalid(path, stored or None, "must have at least one stored version")
        return
    names = [each.get("name", "") for each in versions]
    for each in versions:
        if each.get("storage") and each.get("name") not in stored:
            yield invalid(path, list(stored), f"must have the storage version {each.get('name')}")
    for index, name in enumerate(stored):
        if name not in names:
            why = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and removes "
                f"{name} from status.storedVersions"
            )
            yield invalid(f"{path}[{index}]", name, why)


def _approval_causes(body: Mapping[str, Any], old: Mapping[str, Any] | None) -> Iterator[Cause]:
    group = (body.get("spec") or {}).get("group", "")
    if not group.endswith((".k8s.io", ".kubernetes.io")) and group not in ("k8s.io", "kubernetes.io"):
        return
    given = body["metadata"].get("annotations", {}).get(_APPROVAL, "")
    if old is not None and given == old["metadata"].get("annotations", {}).get(_APPROVAL, ""):
        return
    field = f"metadata.annotations[{_APPROVAL}]"
    if not given:
        why = f'protected groups must have approval annotation "{_APPROVAL}", see '
        yield required(field, why + "https://github.com/kubernetes/enhancements/pull/1111")
    elif not given.startswith(("unapproved", "http://", "https://")):
        why = (
            f'protected groups must have approval annotation "{_APPROVAL}" with either a URL or a reason starting with '
        )
        yield invalid(field, given, why + '"unapproved", see https://github.com/kubernetes/enhancements/pull/1111')
