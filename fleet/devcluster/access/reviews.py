"""The resources that answer questions and store nothing: TokenReview and the access reviews."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from fleet.devcluster.access.attributes import Attributes
from fleet.devcluster.access.authentication import Authentication, TokenError
from fleet.devcluster.access.owners import owned
from fleet.devcluster.access.rbac import Decision
from fleet.devcluster.access.rules import Rule
from fleet.devcluster.access.tokens import ISSUER
from fleet.devcluster.causes import Cause
from fleet.devcluster.wire.gonumbers import go_quoted
from fleet.devcluster.wire.identity import Identity
from fleet.devcluster.wire.requests import Request, Target
from fleet.devcluster.wire.statuses import bad_request, reviewed_invalid
from shards.objects import Object

AUTHENTICATION = "authentication.k8s.io"
AUTHORIZATION = "authorization.k8s.io"
REVIEWS = {
    (AUTHENTICATION, "tokenreviews"): "TokenReview",
    (AUTHENTICATION, "selfsubjectreviews"): "SelfSubjectReview",
    (AUTHORIZATION, "subjectaccessreviews"): "SubjectAccessReview",
    (AUTHORIZATION, "selfsubjectaccessreviews"): "SelfSubjectAccessReview",
    (AUTHORIZATION, "localsubjectaccessreviews"): "LocalSubjectAccessReview",
    (AUTHORIZATION, "selfsubjectrulesreviews"): "SelfSubjectRulesReview",
}
"""Kind by group and plural; version v1 of each."""


@dataclass(slots=True)
class Reviews:
    """decide, rules_of: what the server's authorization says, which allows everything while access control is off."""

    _authentication: Authentication
    _rules_of: Callable[[Identity, str], list[Rule]]
    _decide: Callable[[Attributes], Decision]
    _wall_seconds: Callable[[], float]

    def answer(self, kind: str, request: Request, target: Target, body: Object) -> Object:
        """The reviewed object. Raises StatusError 400, 422."""
        reviewers: Mapping[str, Callable[[Request, Target, Object], Object]] = {
            "TokenReview": self._token,
            "SelfSubjectReview": self._self,
            "SubjectAccessReview": self._access,
            "LocalSubjectAccessReview": self._local_access,
            "SelfSubjectAccessReview": self._self_access,
            "SelfSubjectRulesReview": self._rules,
        }
        reviewed = reviewers[kind](request, target, body)
        return {"kind": kind, "apiVersion": f"{target.resource.group}/v1", "metadata": {}, **reviewed}

    def _token(self, request: Request, target: Target, body: Object) -> Object:
        spec = body.get("spec") or {}
        if not spec.get("token"):
            raise bad_request("token is required for TokenReview in authentication")
        metadata = {"metadata": self._metadata(request, target, body, "TokenReview")}
        audiences = spec.get("audiences") or [ISSUER]
        try:
            user, meant = self._authentication.token_user(spec["token"], audiences)
        except TokenError as error:
            return metadata | {"spec": spec, "status": {"user": {}, "error": str(error)}}
        status: Object = {"authenticated": True, "user": user.info()}
        if meant:
            status["audiences"] = meant
        return metadata | {"spec": spec, "status": status}

    def _self(self, request: Request, target: Target, body: Object) -> Object:
        return {"metadata": {"creationTimestamp": self._timestamp()}, "status": {"userInfo": request.user.info()}}

    def _access(self, request: Request, target: Target, body: Object) -> Object:
        spec = body.get("spec") or {}
        metadata = self._metadata(request, target, body, "SubjectAccessReview")
        causes = [*_attribute_causes(spec), *_subject_causes(spec), *_metadata_causes(metadata)]
        return self._accessed(metadata, spec, causes, _subject(spec))

    def _local_access(self, request: Request, target: Target, body: Object) -> Object:
        spec = body.get("spec") or {}
        metadata = self._metadata(request, target, body, "LocalSubjectAccessReview")
        metadata["namespace"] = target.namespace
        causes = [*_attribute_causes(spec), *_subject_causes(spec), *_metadata_causes(metadata, "namespace")]
        causes += _local_causes(spec, target.namespace)
        return self._accessed(metadata, spec, causes, _subject(spec))

    def _self_access(self, request: Request, target: Target, body: Object) -> Object:
        spec = body.get("spec") or {}
        metadata = self._metadata(request, target, body, "SelfSubjectAccessReview")
        causes = [*_attribute_causes(spec), *_metadata_causes(metadata)]
        return self._accessed(metadata, spec, causes, request.user)

    def _accessed(self, metadata: Object, spec: Object, causes: list[Cause], user: Identity) -> Object:
        if causes:
            raise reviewed_invalid(AUTHORIZATION, "", "", causes)
        decision = self._decide(_attributes(spec, user))
        status: Object = {"allowed": decision.allowed}
        if decision.reason:
            status["reason"] = decision.reason
        return {"metadata": metadata, "spec": spec, "status": status}

    def _rules(self, request: Request, target: Target, body: Object) -> Object:
        namespace = (body.get("spec") or {}).get("namespace", "")
        if not namespace:
            raise bad_request("no namespace on request")
        rules = self._rules_of(request.user, namespace)
        resources = [_shown(each) for each in rules if each.resources]
        paths = [_shown(each) for each in rules if each.non_resource_urls]
        return {"spec": {}, "status": {"resourceRules": resources, "nonResourceRules": paths, "incomplete": False}}

    def _metadata(self, request: Request, target: Target, body: Object, kind: str) -> Object:
        """What the client sent, and that it owns the fields of its question."""
        fields = owned(request, kind, target.resource.group, body.get("spec") or {}, self._timestamp())
        given = {name: value for name, value in (body.get("metadata") or {}).items() if name != "namespace"}
        return {**given, **fields}

    def _timestamp(self) -> str:
        return datetime.fromtimestamp(int(self._wall_seconds()), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _subject(spec: Object) -> Identity:
    extra = {key: tuple(values or ()) for key, values in (spec.get("extra") or {}).items()}
    return Identity(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()), extra)


def _attributes(spec: Object, user: Identity) -> Attributes:
    path = spec.get("nonResourceAttributes")
    if path is not None:
        return Attributes(user, path.get("verb", ""), path=path.get("path", ""))
    wanted: Mapping[str, Any] = spec["resourceAttributes"]
    names = ("group", "version", "resource", "subresource", "namespace", "name")
    return Attributes(user, wanted.get("verb", ""), **{name: wanted.get(name, "") for name in names})


def _attribute_causes(spec: Object) -> list[Cause]:
    path, resource = spec.get("nonResourceAttributes"), spec.get("resourceAttributes")
    if (path is None) is not (resource is None):
        return []
    why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
    return [Cause("FieldValueInvalid", f"Invalid value: {_path_text(path)}: {why}", "spec")]


def _path_text(path: Object | None) -> str:
    """As Go writes it: the struct of the server's own, which has no names for JSON."""
    if path is None:
        return "null"
    return msgspec.json.encode({"Path": path.get("path", ""), "Verb": path.get("verb", "")}).decode()


def _subject_causes(spec: Object) -> Iterator[Cause]:
    if not spec.get("user") and not spec.get("groups"):
        message = 'Invalid value: "": at least one of user or group must be specified'
        yield Cause("FieldValueInvalid", message, "spec.user")


def _metadata_causes(metadata: Object, allowed: str = "") -> Iterator[Cause]:
    """A question has no name, no labels, nothing. allowed: the one field that may be there."""
    if set(metadata) <= {"managedFields", allowed}:
        return
    first = {name: metadata[name] for name in ("name", "generateName", "namespace") if name in metadata}
    why = f"must be empty except for {allowed}" if allowed else "must be empty"
    shown = msgspec.json.encode({**first, **metadata}).decode()
    yield Cause("FieldValueInvalid", f"Invalid value: {shown}: {why}", "metadata")


def _local_causes(spec: Object, namespace: str) -> Iterator[Cause]:
    """Of a question about one namespace."""
    path, resource = spec.get("nonResourceAttributes"), spec.get("resourceAttributes")
    given = (resource or {}).get("namespace", "")
    if resource is not None and given != namespace:
        message = f"Invalid value: {go_quoted(given)}: must match metadata.namespace"
        yield Cause("FieldValueInvalid", message, "spec.resourceAttributes.namespace")
    if path is not None:
        message = f"Invalid value: {_path_text(path)}: disallowed on this kind of request"
        yield Cause("FieldValueInvalid", message, "spec.nonResourceAttributes")


def _shown(rule: Rule) -> Object:
    return {name: value for name, value in msgspec.to_builtins(rule).items() if value}
