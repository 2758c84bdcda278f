"""From the path and the method of a request to what answers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import msgspec

from fleet.devcluster.access.guard import Guard
from fleet.devcluster.access.reviews import REVIEWS
from fleet.devcluster.changes.patches import check_type
from fleet.devcluster.changes.podactions import PodActions
from fleet.devcluster.changes.scaling import Scaling
from fleet.devcluster.changes.strategy import check_namespace, read_body
from fleet.devcluster.changes.writing import Writing
from fleet.devcluster.discovery.nonresource import NonResource
from fleet.devcluster.kinds.resources import Registry, ResourceType
from fleet.devcluster.printing.accept import PLAIN, representation_of
from fleet.devcluster.printing.showing import Showing
from fleet.devcluster.reads.reading import Reading
from fleet.devcluster.recording.requestmetrics import CONTENT_TYPE as METRICS
from fleet.devcluster.recording.requestmetrics import RequestMetrics
from fleet.devcluster.storage.storage import Storage, Table, object_key
from fleet.devcluster.wire import statuses
from fleet.devcluster.wire.answers import Answer
from fleet.devcluster.wire.requests import Request, Target
from shards.objects import Object, Resource

_PLAIN_ACCEPTS = ("", "application/json", "*/*")
_METHODS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_UNSERVED = frozenset({"log", "exec", "attach", "portforward", "proxy"})
"""Subresources that lead to a node; nothing runs here."""

_DEPRECATED = {"endpoints": "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"}
"""Warnings of built-in resources, by plural."""

_GROUPS = {"token": "authentication.k8s.io", "eviction": "policy"}
"""API group of what is posted to a subresource, where it is another than that of the object."""

_VERSION_DEPTH = 2
"""Parts of a path below /apis that names a group version."""

_NO_NAMES = (".", "..")
_OBJECT_METHODS = ("GET", "PUT", "PATCH")


@dataclass(slots=True)
class Routes:
    """Dispatches the requests of one server."""

    _registry: Registry
    _storage: Storage
    _nonresource: NonResource
    _reading: Reading
    _writing: Writing
    _pods: PodActions
    _showing: Showing
    _guard: Guard
    _metrics: RequestMetrics
    _scaling: Scaling

    def answer(self, request: Request, target: Target | None) -> Answer:
        """Raises StatusError."""
        if target is None:
            return self._path(request)
        kind = self._registry.get(target.resource)
        if kind is None:
            return self._unstored(request, target)
        if kind.deprecation:
            request.warnings.append(kind.deprecation)
        if bool(target.namespace) and not kind.namespaced:
            raise statuses.no_such_resource()
        if target.name and kind.namespaced and not target.namespace:
            raise statuses.no_such_path() if kind.custom else statuses.no_such_resource()
        if target.resource.plural in _DEPRECATED and not kind.custom:
            request.warnings.append(_DEPRECATED[target.resource.plural])
        if request.accept in _PLAIN_ACCEPTS:
            return self._stored(request, target, kind)
        return self._shown(request, target, kind)

    def _shown(self, request: Request, target: Target, kind: ResourceType) -> Answer:
        listing = request.method == "GET" and not target.name
        watch = listing and request.flag("watch")
        wanted = representation_of(request.accept, watch=watch, listing=listing, built_in=not kind.custom)
        answer = self._stored(request, target, kind)
        return answer if wanted == PLAIN else self._showing.show(answer, request, wanted, kind)

    # ------------------------------------------------------------------ paths without an object

    def _path(self, request: Request) -> Answer:
        if request.path == "/metrics":
            answer = Answer(200, self._metrics.text().encode(), METRICS)
        else:
            self._check_depth(request.path)
            answer = self._nonresource.answer(request)
        if request.method != "GET" and self._reads_only(request.path):
            raise statuses.no_such_method()
        return answer

    def _reads_only(self, path: str) -> bool:
        """Whether the path answers nothing but GET; the others do not look at the method."""
        root, *rest = path.strip("/").split("/")
        built_in = len(rest) == _VERSION_DEPTH and self._registry.has_built_in(rest[0])
        return root in ("api", "version") or (root == "apis" and built_in)

    def _check_depth(self, path: str) -> None:
        """Raises StatusError 404 for a path below an object that leads nowhere."""
        if path.startswith("//"):
            return
        root, *rest = path.strip("/").split("/")
        if root == "api" and len(rest) > 1:
            raise statuses.no_such_resource()
        if root == "apis" and len(rest) > 2:
            raise self._too_long(*rest)

    def _too_long(self, group: str, version: str, *below: str) -> statuses.StatusError:
        """404 of a path that goes on behind a subresource."""
        if group and self._registry.has_built_in(group):
            return statuses.no_such_resource()
        within = below[0] == "namespaces"
        plural, name, *_ = (*(below[2:] if within else below), "", "")
        kind = self._registry.get(Resource(group, version, plural))
        if kind is None or kind.namespaced is not within:
            return statuses.no_such_path()
        return statuses.no_such_subresource(kind, name)

    def _unstored(self, request: Request, target: Target) -> Answer:
        """Of a resource without storage: a review, or nothing that is served."""
        group, plural = target.resource.group, target.resource.plural
        kind = REVIEWS.get((group, plural)) if target.resource.version == "v1" else None
        if kind is None or target.name or bool(target.namespace) is not (plural == "localsubjectaccessreviews"):
            raise statuses.no_such_resource() if self._registry.has_built_in(group) else statuses.no_such_path()
        if request.method != "POST":
            raise statuses.no_such_method()
        wanted = representation_of(request.accept, watch=False, listing=False, built_in=True)
        body = posted_body(request, kind, group)
        if target.namespace:
            check_namespace(dict(body["metadata"]), target.namespace)
        answer = Answer(201, msgspec.json.encode(self._guard.reviews.answer(kind, request, target, body)))
        return self._showing.as_yaml(answer, wanted)

    # ------------------------------------------------------------------ objects and collections

    def _stored(self, request: Request, target: Target, kind: ResourceType) -> Answer:
        table = self._storage.table(kind)
        if target.subresource:
            return self._subresource(request, target, kind, table)
        if target.name:
            return self._one(request, target, kind, table)
        return self._collection(request, target, kind, table)

    def _one(self, request: Request, target: Target, kind: ResourceType, table: Table) -> Answer:
        method = request.method
        if method != "PUT" and (target.name in _NO_NAMES or "%" in target.name):
            raise _no_name(target.name)
        if method == "GET" or (method == "HEAD" and kind.custom):
            return self._reading.get(request, target, table, kind)
        if method == "PUT":
            return self._writing.update(request, target, table, kind)
        if method == "PATCH":
            return self._writing.patch(request, target, table, kind)
        if method == "DELETE":
            return self._writing.delete(request, target, table, kind)
        if method == "POST" and kind.custom:
            # The real server's handler of custom resources does not look at the name in the path of a create.
            return self._writing.create(request, target, table, kind)
        raise statuses.method_not_allowed(kind, method)

    def _collection(self, request: Request, target: Target, kind: ResourceType, table: Table) -> Answer:
        method = request.method
        if method == "GET" or (method == "HEAD" and kind.custom):
            if request.flag("watch"):
                return self._reading.watch(request, target, table, kind)
            return self._reading.list(request, target, table, kind)
        if kind.custom and kind.namespaced and not target.namespace:
            raise statuses.no_such_path()
        if method == "POST" and (target.namespace or not kind.namespaced):
            return self._writing.create(request, target, table, kind)
        whole = target.namespace or not kind.namespaced
        if method == "DELETE" and whole and "deletecollection" in kind.verbs:
            return self._writing.delete_collection(request, target, table, kind)
        if kind.custom and method in ("PUT", "PATCH"):
            if method == "PATCH":
                check_type(kind, request.content_type)
            raise statuses.bad_request("name must be provided")
        raise statuses.method_not_allowed(kind, method)

    # ------------------------------------------------------------------ subresources

    def _subresource(self, request: Request, target: Target, kind: ResourceType, table: Table) -> Answer:
        name = target.subresource
        if name == "scale" and kind.scale is not None:
            if request.method not in _OBJECT_METHODS:
                raise statuses.method_not_allowed(kind, request.method)
            return self._scaling.answer(request, target, kind, kind.scale, table)
        if kind.custom:
            if name != "status" or not kind.status:
                raise statuses.no_such_subresource(kind, target.name)
            if request.method not in _OBJECT_METHODS:
                raise statuses.method_not_allowed(kind, request.method)
            return self._one(request, target, kind, table)
        declared = next((each for each in kind.subresources if each.name == name), None)
        if declared is None:
            raise statuses.no_such_subresource(kind, target.name)
        if _METHODS.get(request.method, "") not in declared.verbs:
            raise statuses.no_such_method()
        if name in _UNSERVED:
            if object_key(target.namespace, target.name) not in table.objects:
                raise statuses.not_found(kind, target.name)
            raise statuses.not_served(f"{kind.resource.plural}/{name}: nothing runs here")
        if request.method != "POST":
            return self._one(request, target, kind, table)
        return self._posted(request, target, declared.kind, table)

    def _posted(self, request: Request, target: Target, kind: str, table: Table) -> Answer:
        actions: Mapping[str, Callable[[Request, Target, Table, Object], Answer]] = {
            "binding": self._pods.bind,
            "eviction": self._pods.evict,
            "token": self._token,
        }
        body = posted_body(request, kind, _GROUPS.get(target.subresource, ""))
        check_namespace(dict(body["metadata"]), target.namespace)
        return actions[target.subresource](request, target, table, body)

    def _token(self, request: Request, target: Target, table: Table, body: Object) -> Answer:
        return Answer(201, msgspec.json.encode(self._guard.token_requests.issue(request, target, body)))


def posted_body(request: Request, kind: str, group: str) -> Object:
    """The object of something that is not stored. Raises StatusError 400, 415."""
    return read_body(
        _posted_kind(kind, group),
        request.body,
        content_type=request.content_type,
        validation=request.field_validation,
        warnings=request.warnings,
    )


def _no_name(name: str) -> statuses.StatusError:
    """400 of what is no segment of a path."""
    why = f"may not be '{name}'" if name in _NO_NAMES else "may not contain '%'"
    return statuses.bad_request(f'Name parameter invalid: "{name}": {why}')


@cache
def _posted_kind(kind: str, group: str) -> ResourceType:
    return ResourceType(Resource(group, "v1", f"{kind.lower()}s"), kind, fields=frozenset())
