"""Checks before the first fork: what would make every worker fail is said once, in one sentence.

Reachable and trusted server, accepted credentials, resources that are served, permissions, a partition key that the
primaries can have, a free port.
"""

from __future__ import annotations

import errno
import logging
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from fleet.records.object_names import CONFIG_MAPS, LEASES, Names
from fleet.records.record import DocumentName
from shards.api.client import Client
from shards.authoring.controller import Controller
from shards.errors import ApiError, ConfigError, Forbidden, NotFound, ShardError, Unauthorized, Unreachable, Untrusted
from shards.keyrange import PartitionKey
from shards.objects import Object, Resource
from shards.settings import ScopeSettings

log = logging.getLogger(__name__)

_REVIEWS = Resource("authorization.k8s.io", "v1", "selfsubjectaccessreviews")
_READ = ("get", "list", "watch")
_WRITE = ("create", "update", "patch", "delete")
_STATUS = ("update", "patch")


class PreflightFailed(ShardError):
    """Something outside the config makes the start useless. The message says what would be right."""


class Need(NamedTuple):
    """What the fleet does with a resource in a namespace. namespace "": in all of them, or cluster-scoped.

    name: of the only object that is meant, "" for all. own: for the fleet's own records.
    """

    resource: Resource
    namespace: str
    verbs: tuple[str, ...]
    subresource: str = ""
    name: str = ""
    own: bool = False


async def check_server(
    client: Client,
    host: str,
    controllers: Sequence[Controller],
    *,
    partition_by: PartitionKey,
    scope: ScopeSettings,
    names: Names,
) -> tuple[PartitionKey, ...]:
    """Which partition keys the primaries can have. Raises PreflightFailed, or ConfigError for one that they cannot.

    host: of the API server, for messages. names: of the fleet's own objects. What is missing in some of the namespaces
    that are watched one by one is a warning, because the others can do without them.
    """
    keys = tuple(PartitionKey)
    with explained(host):
        for controller in controllers:
            served = [await _served(client, host, resource) for resource in _resources(controller)]
            if served[0].get("namespaced") is False:
                keys = tuple(key for key in keys if key is not PartitionKey.NAMESPACE)
        check_key(partition_by, keys)
        refused = [(need, text) for need in needs(controllers, scope, names) for text in await _refused(client, need)]
    if not refused:
        return keys
    missing = (
        f"no permission to {'; '.join(text for _, text in refused)}: grant it with a Role or ClusterRole"
        " (deploy/base/rbac.yaml has an example)"
    )
    without = {need.namespace for need, _ in refused}
    if not scope.watch_each or any(need.own for need, _ in refused) or not without < set(scope.namespaces):
        raise PreflightFailed(missing)
    log.warning("%s; the fleet goes on without namespace %s until then", missing, ", ".join(sorted(without)))
    return keys


def check_key(wanted: PartitionKey, able: Sequence[PartitionKey]) -> None:
    """able: those that the primaries can have. Raises ConfigError."""
    if wanted not in able:
        raise ConfigError(
            "shards.partitionBy",
            f"{wanted} divides no cluster-scoped objects, which have no namespace; write {' or '.join(able)}",
        )


@contextmanager
def explained(host: str) -> Iterator[None]:
    """Turns what a server or the way to it can do wrong into one sentence with what would be right.

    Raises PreflightFailed instead of Unreachable and ApiError.
    """
    try:
        yield
    except Untrusted as error:
        raise PreflightFailed(
            f"the certificate of {host} is not signed by the configured authority ({error});"
            " set certificate-authority in the kubeconfig to the authority of that server"
        ) from error
    except Unreachable as error:
        raise PreflightFailed(
            f"the API server {host} cannot be reached ({error}); is it running, and is the kubeconfig's server right?"
        ) from error
    except Unauthorized as error:
        raise PreflightFailed(
            f"{host} does not accept the credentials; renew those in the kubeconfig or the service account's token"
        ) from error
    except Forbidden as error:
        raise PreflightFailed(
            f"no permission on {host}: {error.message}; grant it with a Role or ClusterRole"
        ) from error
    except ApiError as error:
        raise PreflightFailed(f"{host} answered with an error: {error}") from error


def check_port(address: str, port: int, path: str) -> None:
    """Raises ConfigError naming `path` when nothing can listen there. port 0 or less: nothing to check."""
    if port <= 0:
        return
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # As servers do: an earlier run's closed connections do not occupy the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
            probe.listen(1)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                what = "is in use by another process; choose another one, or 0 for any that is free"
            else:
                what = f"cannot be opened: {error.strerror or error}"
            raise ConfigError(path, f"port {port} of {address} {what}") from error


def needs(controllers: Iterable[Controller], scope: ScopeSettings, names: Names) -> list[Need]:
    """Permissions that a fleet of these controllers uses, in the order of their use."""
    found = [
        Need(LEASES, names.namespace, (*_READ, "create", "update", "delete"), own=True),
        Need(CONFIG_MAPS, names.namespace, ("list", "watch", "create"), own=True),
        Need(CONFIG_MAPS, names.namespace, ("get", "update"), name=names.map, own=True),
        Need(CONFIG_MAPS, names.namespace, ("get", "patch"), name=names.document(DocumentName.QUARANTINE), own=True),
    ]
    namespaces, each = scope.namespaces, scope.watch_each
    for controller in controllers:
        found += _needs_of_view(controller.primary, namespaces, (), watch_each=each)
        found += [Need(controller.primary, where, _STATUS, "status") for where in namespaces or ("",)]
        for resource in controller.owned:
            found += _needs_of_view(resource, namespaces, _WRITE, watch_each=each)
        for watch in controller.watched:
            own = controller.selections[watch.resource].namespaces
            found += _needs_of_view(watch.resource, namespaces if own is None else own, (), watch_each=each)
    return found


def _needs_of_view(
    resource: Resource, namespaces: Sequence[str], writes: tuple[str, ...], *, watch_each: bool
) -> list[Need]:
    """Several namespaces are one watch of all of them, or one each; single objects are asked for where they are."""
    if len(namespaces) < 2:
        return [Need(resource, "".join(namespaces), (*_READ, *writes))]
    if watch_each:
        return [Need(resource, each, (*_READ, *writes)) for each in namespaces]
    return [Need(resource, "", _READ[1:]), *(Need(resource, each, (_READ[0], *writes)) for each in namespaces)]


def _resources(controller: Controller) -> tuple[Resource, ...]:
    """The primary first."""
    return (controller.primary, *controller.owned, *(watch.resource for watch in controller.watched))


async def _served(client: Client, host: str, resource: Resource) -> Object:
    """The server's own description of the resource. Raises PreflightFailed when it serves no such thing."""
    root = resource.path().rpartition("/")[0]
    try:
        described: Object = msgspec.json.decode(await client.transport.request("GET", root))
    except NotFound:
        described = {}
    for entry in described.get("resources", ()):
        if entry["name"] == resource.plural:
            return dict(entry)
    raise PreflightFailed(
        f"{host} does not serve {resource}; install its CustomResourceDefinition first (kubectl apply -f ...),"
        " and check group, version and plural"
    )


async def _refused(client: Client, need: Need) -> list[str]:
    """What of the need is not allowed, as text; [] when all is."""
    refused = []
    for verb in need.verbs:
        attributes = {
            "verb": verb,
            "group": need.resource.group,
            "version": need.resource.version,
            "resource": need.resource.plural,
            "subresource": need.subresource,
            "namespace": need.namespace,
            "name": need.name,
        }
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        try:
            answer = await client.create(_REVIEWS, "", body)
        except NotFound:
            return []  # a server without authorization, such as the embedded one
        if not answer.get("status", {}).get("allowed"):
            refused.append(verb)
    if not refused:
        return []
    what = "/".join(filter(None, (str(need.resource), need.subresource, need.name)))
    return [f"{', '.join(refused)} {what} in {f'namespace {need.namespace}' if need.namespace else 'all namespaces'}"]
