"""Rules of namespaces, ConfigMaps, Secrets, Leases and Events. Pure, in place."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Final

from fleet.devcluster.builtins.findings import forbidden, immutable, invalid, required
from fleet.devcluster.builtins.rulebook import rule
from fleet.devcluster.causes import Cause
from shards.objects import Object

_CONFIG_KEY: Final = re.compile(r"^[-._a-zA-Z0-9]+$")
_ACCOUNT: Final = "kubernetes.io/service-account.name"
_REQUIRED_DATA: Final = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/basic-auth": ("username", "password"),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}
_KEY_LIMIT: Final = 253
_KEY_MESSAGE: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)


@rule.defaults("", "namespaces")
def label_namespace(body: Object) -> None:
    metadata = body["metadata"]
    if metadata.get("name"):
        metadata["labels"] = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata["name"]}


@rule.creation("", "namespaces")
def open_namespace(body: Object) -> None:
    label_namespace(body)
    given = (body.get("spec") or {}).get("finalizers") or []
    body["spec"] = {"finalizers": given if "kubernetes" in given else [*given, "kubernetes"]}
    body["status"] = {"phase": "Active"}


@rule.update("", "namespaces")
def keep_finalizers(body: Object, old: Object) -> None:
    """Only the finalize subresource changes them."""
    body["spec"] = old.get("spec") or {}


@rule.defaults("", "secrets")
def default_secret(body: Object) -> None:
    for name, value in (body.pop("stringData", None) or {}).items():
        body.setdefault("data", {})[name] = base64.b64encode(str(value).encode()).decode()
    body.setdefault("type", "Opaque")


@rule.checks("", "secrets")
def secret_causes(body: Object, old: Object | None) -> Iterator[Cause]:
    if old is not None and body.get("type") != old.get("type"):
        yield immutable("type", body.get("type"))
    yield from data_causes(body, old)
    data = body.get("data") or {}
    missing = [each for each in _REQUIRED_DATA.get(body["type"], ()) if each not in data]
    if body["type"] == "kubernetes.io/ssh-auth" and not data.get("ssh-privatekey"):
        missing = ["ssh-privatekey"]
    if body["type"] == "kubernetes.io/basic-auth" and len(missing) == 1:
        # One of the two is enough.
        missing = []
    for each in missing:
        yield required(f"data[{each}]")
    annotations = body["metadata"].get("annotations") or {}
    if body["type"] == "kubernetes.io/service-account-token" and not annotations.get(_ACCOUNT):
        yield required(f"metadata.annotations[{_ACCOUNT}]")


@rule.checks("", "configmaps")
def data_causes(body: Object, old: Object | None) -> Iterator[Cause]:
    for field in ("data", "binaryData"):
        for key in body.get(field) or {}:
            if len(key) > _KEY_LIMIT or not _CONFIG_KEY.match(key):
                yield invalid(f"{field}[{key}]", key, _KEY_MESSAGE)
    if old is not None and old.get("immutable"):
        for field in ("immutable", "data", "binaryData"):
            if body.get(field) != old.get(field):
                yield forbidden(field, "field is immutable when `immutable` is set")


@rule.update("coordination.k8s.io", "leases")
def drop_disabled_again(body: Object, old: Object) -> None:
    drop_disabled(body)


@rule.creation("coordination.k8s.io", "leases")
def drop_disabled(body: Object) -> None:
    """The fields of coordinated leader election, which is off (KEP-4355); who wrote them is said to own them."""
    for name in ("preferredHolder", "strategy"):
        body["spec"].pop(name, None)


@rule.checks("coordination.k8s.io", "leases")
def lease_causes(body: Object, old: Object | None) -> Iterator[Cause]:
    spec = body.get("spec") or {}
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if isinstance(duration, int) and duration <= 0:
        yield invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    if isinstance(transitions, int) and transitions < 0:
        yield invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0")
