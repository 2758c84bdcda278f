"""`fleet serve`: the embedded API server alone, for kubectl, for tests in any language, for a look."""

from __future__ import annotations

import asyncio
import signal
import ssl
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from fleet.dev.documents import Document, check_kinds, read_objects
from fleet.dev.options import NAMESPACE
from fleet.dev.server import CONTEXT, HOST
from fleet.devcluster.http import HttpDoor, serve
from fleet.devcluster.journalfile import JournalFile
from fleet.devcluster.kubeconfig import kubeconfig_text
from fleet.devcluster.recorder import Recorder
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from shards.client import error_from
from shards.errors import ApiError, ConfigError


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """port: 0 for any free one. load: files of objects that exist from the start, in order.

    kubeconfig: where to write it; None prints it. sharding: whether shardSelector is honoured (KEP-5866).
    front_ends: API servers over one storage, each with a watch cache of its own. admin_token: with one, RBAC decides
    who may do what, and this bearer token may do everything. journal: a file for every request, as JSON lines.
    certificate, key: PEM files; with both it serves https. Clients trust the certificate itself.
    """

    port: int = 0
    load: Sequence[Path] = ()
    kubeconfig: Path | None = None
    sharding: bool = True
    front_ends: int = 1
    admin_token: str = ""
    journal: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        """Raises ConfigError."""
        if (self.certificate is None) != (self.key is None):
            raise ConfigError("--key", "give --certificate and --key together, or neither")
        if self.port and self.front_ends > 1:
            raise ConfigError("--port", "several front ends have a port each; leave --port out")


def serve_alone(options: ServeOptions) -> int:
    """Serves until Ctrl-C or SIGTERM. Raises ConfigError."""
    documents = [each for file in options.load for each in read_objects("--load", file)]
    asyncio.run(_serve(options, documents))
    return 0


async def _serve(options: ServeOptions, documents: Sequence[Document]) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signum, stop.set)
    settings = ServerSettings(
        sharded_list_and_watch=options.sharding,
        admin_token=options.admin_token,
        default_accounts=bool(options.admin_token),
    )
    tls = _tls(options)
    recorder = Recorder()
    journal = JournalFile(recorder, options.journal) if options.journal else None
    server = ApiServer(settings, recorder=recorder)
    check_kinds("--load", documents, lambda version, kind: server.registry.of(version, kind) is not None)
    for document in documents:
        await _create(server, document, options.admin_token)
    numbers = range(2, options.front_ends + 1)
    others = [ApiServer(settings, recorder=recorder, beside=server, name=f"{CONTEXT}-{each}") for each in numbers]
    doors: list[HttpDoor] = []
    try:
        for each in (server, *others):
            doors.append(await serve(each, HOST, options.port, ssl_context=tls))
        _announce([door.url for door in doors], options)
        await stop.wait()
    finally:
        for door in doors:
            await door.close()
        if journal is not None:
            journal.close()


def _tls(options: ServeOptions) -> ssl.SSLContext | None:
    """Raises ConfigError."""
    if options.certificate is None or options.key is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(options.certificate, options.key)
    except (OSError, ssl.SSLError) as error:
        what = f"{options.certificate} and {options.key} are no certificate and its key: {error}"
        raise ConfigError("--certificate", what) from error
    return context


async def _create(server: ApiServer, document: Document, token: str) -> None:
    body = document.body
    kind = server.registry.of(*document.type)
    what = f"{document.place}: {body['kind']} {body['metadata'].get('name', '')!r}"
    if kind is None:
        raise ConfigError("--load", f"{what}: nothing serves this kind; load its CustomResourceDefinition before it")
    namespace = body["metadata"].get("namespace") or "default" if kind.namespaced else ""
    headers = {"user-agent": "fleet-serve", "content-type": "application/json", "authorization": f"Bearer {token}"}
    answer = await server.handle("POST", kind.resource.path(namespace), (), msgspec.json.encode(body), headers)
    if answer.status != 201:
        error: ApiError = error_from(answer.status, answer.body, None)
        raise ConfigError("--load", f"{what} is refused: {error}")


def _announce(urls: Sequence[str], options: ServeOptions) -> None:
    text = kubeconfig_text(
        *urls, name=CONTEXT, token=options.admin_token, authority=options.certificate, namespace=NAMESPACE
    )
    how = ""
    if options.kubeconfig is None:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        try:
            options.kubeconfig.write_text(text, encoding="utf-8")
        except OSError as error:
            raise ConfigError("--write-kubeconfig", f"cannot write {options.kubeconfig}: {error.strerror}") from error
        how = f"; kubectl --kubeconfig {options.kubeconfig} get namespaces"
    sys.stderr.write(f"serving the Kubernetes API at {' '.join(urls)}{how}; Ctrl-C ends it\n")
    sys.stderr.flush()
