"""Where the API server is and who we are: the one door to kubernetes.aio (configuration, authentication).

Its models, client, watch and election are never touched nor imported (`shards.transport.lean_kubernetes`), and what is
used of it when a connection is made: one before a fork lets the children inherit it. Requests are made by
`shards.transport.http_transport`.
"""

from __future__ import annotations

import asyncio
import math
import os
import ssl
import threading
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from shards.api.request_meters import RequestMeters
from shards.clock import Clock, boot_seconds
from shards.errors import ConfigError, ShardError
from shards.metrics import RequestMetrics
from shards.transport.credentials import RELOAD_SECONDS, Access, Load
from shards.transport.http_transport import KubeTransport
from shards.transport.lean_kubernetes import import_config
from shards.transport.proxies import proxy_for, usable

__all__ = ["KubeTransport", "connect", "loader"]

T = TypeVar("T")

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

TOKEN_SECONDS = 60.0
"""Age at which a token that lives in a file is read again (kubelet rotates it in place)."""

EXPIRY_MARGIN_SECONDS = 60.0
"""How long before its expiry a plugin's credential is renewed."""


async def connect(
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
    clock: Clock = boot_seconds,
    metrics: RequestMetrics | None = None,
) -> KubeTransport:
    """A transport to the cluster that is configured. No request is sent yet.

    kubeconfig: path or paths as in $KUBECONFIG. Without it: $KUBECONFIG, else the pod's service account, else
    ~/.kube/config. context: one of the kubeconfig, instead of its current one. Credential plugins run in a thread.
    Raises ConfigError.
    """
    load = loader(kubeconfig, context)
    access = await asyncio.to_thread(load)
    return KubeTransport(access, load, clock, RequestMeters(metrics, access.host))


_temporary_files = threading.Lock()
"""The loader keeps its temporary files in a global: one load at a time, from writing them to removing them."""


def loader(kubeconfig: str | None, context: str | None) -> Load:
    """Reads the configuration that is meant, each time anew; arguments as of `connect`. Raises ConfigError."""
    trust = _Trust()
    chosen = kubeconfig or os.environ.get("KUBECONFIG")
    if not chosen and not context and os.environ.get("KUBERNETES_SERVICE_HOST"):
        return lambda: _in_cluster(trust)
    paths = chosen or str(Path.home() / ".kube" / "config")
    if not any(Path(path).expanduser().is_file() for path in paths.split(os.pathsep) if path):
        raise ConfigError(
            "kubeconfig", f"{paths} does not exist; name one with --kubeconfig or $KUBECONFIG, or run in a pod"
        )
    return lambda: _from_kubeconfig(paths, context, trust)


def _in_cluster(trust: _Trust) -> Access:
    import_config()
    from kubernetes.aio.client import Configuration
    from kubernetes.aio.config import ConfigException, load_incluster_config

    configuration = Configuration()
    load: Callable[..., None] = load_incluster_config
    try:
        load(client_configuration=configuration)
        namespace = (SERVICE_ACCOUNT / "namespace").read_text().strip()
        return _access(configuration, namespace, TOKEN_SECONDS, trust)
    except ShardError:
        raise
    except (ConfigException, OSError, ValueError) as error:  # ValueError: bytes that are no text; SSL's are OSErrors
        raise ConfigError("", f"the pod's service account cannot be used: {error}") from error


def _from_kubeconfig(paths: str, context: str | None, trust: _Trust) -> Access:
    import_config()
    from kubernetes.aio.client import Configuration
    from kubernetes.aio.config import kube_config

    configuration = Configuration()
    load: Callable[..., Coroutine[Any, Any, Any]] = kube_config.load_kube_config
    remove: Callable[[], None] = kube_config._cleanup_temp_files
    _temporary_files.acquire()
    try:
        loader = _in_own_loop(
            load(config_file=paths, context=context, client_configuration=configuration, persist_config=False)
        )
        user = loader._user or {}  # the loader has no public name for it
        chosen = loader.current_context["context"]
        namespace = chosen.get("namespace") or "default"
        access = _access(configuration, namespace, _fresh_seconds(loader, user), trust)
    except ShardError:
        raise
    except Exception as error:  # the loader raises whatever its parsers, plugins and file reads raise
        raise ConfigError("kubeconfig", f"{paths} cannot be used: {error}") from error
    finally:
        # Inline certificates and keys were written to files that go at exit, and a worker that is killed has none.
        remove()
        _temporary_files.release()
    if "exec" in user and not access.authorization and not configuration.cert_file:
        raise ConfigError("kubeconfig", "the exec plugin gave neither a token nor a certificate; run it by hand")
    return access


def _fresh_seconds(loader: Any, user: Any) -> float:
    expiry: datetime | None = getattr(loader, "exec_plugin_expiry", None)
    if expiry is not None:
        return max((expiry - datetime.now(UTC)).total_seconds() - EXPIRY_MARGIN_SECONDS, RELOAD_SECONDS)
    return TOKEN_SECONDS if "tokenFile" in user or "auth-provider" in user else math.inf


class _Trust:
    """The TLS context of the last load, kept for as long as what it was made of does not change."""

    def __init__(self) -> None:
        self._material: tuple[Any, ...] = ()
        self._context: ssl.SSLContext | None = None

    def context(self, configuration: Any) -> ssl.SSLContext | None:
        """None for plain HTTP."""
        if not configuration.host.startswith("https"):
            return None
        paths = (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file)
        contents = [Path(path).read_bytes() if path else None for path in paths]
        material = (*contents, configuration.ca_cert_data, configuration.verify_ssl)
        if material != self._material or self._context is None:
            self._context = self._made(configuration)
            self._material = material
        return self._context

    def _made(self, configuration: Any) -> ssl.SSLContext:
        tls = ssl.create_default_context(cafile=configuration.ssl_ca_cert, cadata=configuration.ca_cert_data)
        if configuration.cert_file:
            tls.load_cert_chain(configuration.cert_file, keyfile=configuration.key_file)
        if not configuration.verify_ssl:
            tls.check_hostname = False
            tls.verify_mode = ssl.CERT_NONE
        return tls


def _access(configuration: Any, namespace: str, fresh_seconds: float, trust: _Trust) -> Access:
    host = configuration.host.rstrip("/")
    chosen = configuration.proxy
    return Access(
        host=host,
        namespace=namespace,
        authorization=configuration.api_key.get("BearerToken", "").strip(),
        fresh_seconds=fresh_seconds,
        ssl=trust.context(configuration),
        server_hostname=configuration.tls_server_name or None,
        proxy=usable(chosen, "proxy-url") if chosen else proxy_for(host, os.environ),
    )


def _in_own_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    # In a thread, on a plain loop: the loader starts exec plugins, and a subprocess started from the worker's own loop
    # would stop it for as long as the fork of a large process takes.
    loop = asyncio.SelectorEventLoop()
    try:
        return loop.run_until_complete(coroutine)
    finally:
        loop.close()
