"""What a request wants to do, in the words of authorization. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from fleet.devcluster.wire.identity import Identity
from fleet.devcluster.wire.requests import Request, Target
from fleet.devcluster.wire.statuses import StatusError

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}
_READS = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class Attributes:
    """Of a resource, or of a path that is none (resource ""). subresource "": the object itself."""

    user: Identity
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @classmethod
    def of(cls, request: Request, target: Target | None) -> Attributes:
        """As the real server's RequestInfo: a namespace is in itself, a list of one name has that name."""
        if target is None:
            return cls(request.user, request.method.lower(), path=request.path)
        resource, name = target.resource, target.name
        namespace = target.namespace
        if resource.plural == "namespaces" and not resource.group:
            namespace = name
        if not name and request.method == "GET":
            name = _selected_name(request.option("fieldSelector"))
        return cls(
            request.user,
            resource_verb(request, target),
            resource.group,
            resource.version,
            resource.plural,
            target.subresource,
            namespace,
            name,
        )

    @property
    def combined(self) -> str:
        """ "pods" or "pods/log"."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def resource_verb(request: Request, target: Target) -> str:
    """ "" for a method that no resource has."""
    if request.method in _READS:
        if target.name:
            return "get"
        return "watch" if request.flag("watch") else "list"
    if request.method == "DELETE":
        return "delete" if target.name else "deletecollection"
    return _VERBS.get(request.method, "")


def _selected_name(selector: str) -> str:
    """The name that a field selector requires, "" for none."""
    for term in selector.split(",") if selector else ():
        path, _, value = term.replace("==", "=").partition("=")
        if path == "metadata.name":
            return value
    return ""


def unauthorized() -> StatusError:
    """401: a token that nobody knows."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def forbidden(wanted: Attributes, reason: str) -> StatusError:
    """403, in the words of the real server."""
    end = f": {reason}" if reason else ""
    if not wanted.resource:
        what = f'User "{wanted.user.name}" cannot {wanted.verb} path "{wanted.path}"'
        return StatusError(403, "Forbidden", f"forbidden: {what}{end}", details={})
    where = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
    what = f'cannot {wanted.verb} resource "{wanted.combined}" in API group "{wanted.group}" {where}'
    qualified = f"{wanted.resource}.{wanted.group}" if wanted.group else wanted.resource
    named = f'{qualified} "{wanted.name}"' if wanted.name else qualified
    details = {"name": wanted.name, "group": wanted.group, "kind": wanted.resource}
    return StatusError(
        403,
        "Forbidden",
        f'{named} is forbidden: User "{wanted.user.name}" {what}{end}',
        details={key: value for key, value in details.items() if value},
    )
