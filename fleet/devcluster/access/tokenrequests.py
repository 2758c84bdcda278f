"""TokenRequest: `serviceaccounts/{name}/token`. Source: pkg/registry/core/serviceaccount/storage/token.go."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fleet.devcluster.access.owners import owned
from fleet.devcluster.access.tokens import ISSUER, Named, Signer, claims_of
from fleet.devcluster.causes import Cause
from fleet.devcluster.kinds.resources import Registry
from fleet.devcluster.storage.storage import Storage, Stored, object_key
from fleet.devcluster.wire.requests import Request, Target
from fleet.devcluster.wire.statuses import StatusError, bad_request, not_found, reviewed_invalid
from shards.objects import Object, Resource

_GROUP = "authentication.k8s.io"
_DEFAULT_SECONDS = 3600
_SHORTEST_SECONDS = 600
_LONGEST_SECONDS = 1 << 32
_BINDABLE = {("v1", "Pod"): "pods", ("v1", "Secret"): "secrets", ("v1", "Node"): "nodes"}


@dataclass(slots=True)
class TokenRequests:
    """Issues tokens. rng: for their identifiers. wall_seconds: since 1970."""

    _storage: Storage
    _registry: Registry
    _signer: Signer
    _rng: random.Random
    _wall_seconds: Callable[[], float]

    def issue(self, request: Request, target: Target, body: Object) -> Object:
        """The answered TokenRequest. Raises StatusError 400, 404, 409, 422."""
        account = self._get("serviceaccounts", target.namespace, target.name)
        metadata, spec = body.get("metadata") or {}, body.get("spec") or {}
        _check_name(metadata, target)
        seconds = spec.get("expirationSeconds") or _DEFAULT_SECONDS
        _check_seconds(seconds)
        audiences = tuple(spec.get("audiences") or [ISSUER])
        reference = spec.get("boundObjectRef")
        bound = self._bound(target, reference) if reference else {}
        now = int(self._wall_seconds())
        claims = claims_of(
            namespace=target.namespace,
            account=Named(account.meta.name, account.meta.uid),
            bound=bound,
            audiences=audiences,
            now=now,
            seconds=seconds,
            jti=str(uuid.UUID(int=self._rng.getrandbits(128), version=4)),
        )
        return {
            "kind": "TokenRequest",
            "apiVersion": f"{_GROUP}/v1",
            "metadata": {
                "name": target.name,
                "namespace": target.namespace,
                "uid": account.meta.uid,
                "creationTimestamp": _timestamp(now),
                **owned(
                    request, "TokenRequest", _GROUP, {**spec, "expirationSeconds": seconds}, _timestamp(now), "token"
                ),
            },
            "spec": {"audiences": list(audiences), "expirationSeconds": seconds, "boundObjectRef": reference},
            "status": {"token": self._signer.sign(claims), "expirationTimestamp": _timestamp(now + seconds)},
        }

    def _bound(self, target: Target, reference: Any) -> dict[str, Named]:
        version, kind = reference.get("apiVersion", ""), reference.get("kind", "")
        plural = _BINDABLE.get((version, kind))
        if plural is None:
            group, _, only = version.rpartition("/")
            raise bad_request(f"cannot bind token to object of type {group}/{only}, Kind={kind}")
        stored = self._get(plural, "" if kind == "Node" else target.namespace, reference.get("name", ""))
        wanted = reference.get("uid", "")
        if wanted and wanted != stored.meta.uid:
            raise _other_uid(kind, stored, wanted)
        if kind == "Pod" and (stored.decode().get("spec") or {}).get("serviceAccountName") != target.name:
            where = "to pod running with different serviceaccount name."
            raise bad_request(f'cannot bind token for serviceaccount "{target.name}" {where}')
        return {kind.lower(): Named(stored.meta.name, stored.meta.uid)}

    def _get(self, plural: str, namespace: str, name: str) -> Stored:
        kind = self._registry.get(Resource("", "v1", plural))
        if kind is None:
            raise bad_request(f"{plural} are not served")
        stored = self._storage.table(kind).objects.get(object_key(namespace, name))
        if stored is None:
            raise not_found(kind, name)
        return stored


def _check_name(metadata: Object, target: Target) -> None:
    given = metadata.get("name") or ""
    if given and given != target.name:
        message = f'Invalid value: "{given}": must match the service account name if specified'
        cause = Cause("FieldValueInvalid", message, "metadata.name")
        raise reviewed_invalid(_GROUP, "TokenRequest", target.name, [cause])


def _check_seconds(seconds: int) -> None:
    if seconds < _SHORTEST_SECONDS:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > _LONGEST_SECONDS:
        why = "may not specify a duration larger than 2^32 seconds"
    else:
        return
    cause = Cause("FieldValueInvalid", f"Invalid value: {seconds}: {why}", "spec.expirationSeconds")
    raise reviewed_invalid(_GROUP, "TokenRequest", "", [cause])


def _other_uid(kind: str, stored: Stored, wanted: str) -> StatusError:
    name = stored.meta.name
    why = (
        f"the UID in the bound object reference ({wanted}) does not match the UID in record. "
        "The object might have been deleted and then recreated"
    )
    message = f'Operation cannot be fulfilled on {kind} "{name}": {why}'
    return StatusError(409, "Conflict", message, details={"name": name, "kind": kind})


def _timestamp(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
