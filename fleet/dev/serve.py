"""`fleet serve`: the embedded API server alone, for kubectl, for tests in any language, for a look."""

from __future__ import annotations

import asyncio
import re
import signal
import ssl
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import msgspec

from fleet.dev.documents import Document, check_kinds, read_objects
from fleet.dev.options import NAMESPACE
from fleet.dev.server import CONTEXT, HOST
from fleet.devcluster.doors.http import HttpDoor, serve
from fleet.devcluster.doors.kubeconfig import kubeconfig_text, write_kubeconfig
from fleet.devcluster.recording.journal import Level
from fleet.devcluster.recording.journalfile import KEPT_BESIDE_A_FILE, JournalFile
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings
from shards.api.client import error_from
from shards.errors import ApiError, ConfigError

_TOKEN = re.compile(r"[!-~]+")
"""What a header can carry behind "Bearer"."""


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """port: 0 for any free one. load: files of objects that exist from the start, in order.

    kubeconfig: where to write it; None prints it. sharding: whether shardSelector is honoured (KEP-5866).
    front_ends: API servers over one storage, each with a watch cache of its own. admin_token: with one, RBAC decides
    who may do what, and this bearer token may do everything. journal: a file for every request, as JSON lines;
    journal_level: how much of each, the name of a `recording.journal.Level`.
    certificate, key: PEM files; with both it serves https. Clients trust the certificate itself.
    """

    port: int = 0
    load: Sequence[Path] = ()
    kubeconfig: Path | None = None
    sharding: bool = True
    front_ends: int = 1
    admin_token: str | None = None
    journal: Path | None = None
    journal_level: str = "requests"
    certificate: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        """Raises ConfigError."""
        if (self.certificate is None) != (self.key is None):
            raise ConfigError("--key", "give --certificate and --key together, or neither")
        if self.port and self.front_ends > 1:
            raise ConfigError("--port", "several front ends have a port each; leave --port out")
        if self.admin_token == "":
            raise ConfigError("--admin-token", "it is empty; leave the option out to let everybody in")
        if self.admin_token is not None and not _TOKEN.fullmatch(self.admin_token):
            what = "it must be of visible ASCII characters, without blanks: a header has to carry it"
            raise ConfigError("--admin-token", what)


def serve_alone(options: ServeOptions) -> int:
    """Serves until Ctrl-C or SIGTERM; a second one does not wait for the end. Raises ConfigError."""
    documents = [each for file in options.load for each in read_objects("--load", file)]
    asyncio.run(_serve(options, documents))
    return 0


async def _serve(options: ServeOptions, documents: Sequence[Document]) -> None:
    stop = _stopping()
    tls = _tls(options)
    async with AsyncExitStack() as closing:
        level = Level[options.journal_level.upper()]
        recorder = Recorder(level=level) if options.journal is None else Recorder(level=level, limit=KEPT_BESIDE_A_FILE)
        if options.journal is not None:
            closing.callback(JournalFile(recorder, options.journal).close)
        servers = front_ends(options, recorder)
        registry = servers[0].registry
        check_kinds("--load", documents, lambda version, kind: registry.of(version, kind) is not None)
        for document in documents:
            await _create(servers[0], document, options.admin_token or "")
        urls: list[str] = []
        for each in servers:
            door = await _listening(each, options.port, tls)
            closing.push_async_callback(door.close)
            urls.append(door.url)
        if not stop.is_set():
            _announce(urls, options)
            await stop.wait()


def _stopping() -> asyncio.Event:
    """Is set by the first Ctrl-C or SIGTERM. The next one ends the process as if nobody had listened."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    signals = (signal.SIGINT, signal.SIGTERM)

    def heard() -> None:
        stop.set()
        for signum in signals:
            loop.remove_signal_handler(signum)

    for signum in signals:
        loop.add_signal_handler(signum, heard)
    return stop


def front_ends(options: ServeOptions, recorder: Recorder) -> list[ApiServer]:
    """Named like the contexts of the kubeconfig."""
    settings = ServerSettings(
        sharded_list_and_watch=options.sharding,
        admin_token=options.admin_token or "",
        default_accounts=bool(options.admin_token),
    )
    first = ApiServer(settings, name=CONTEXT, recorder=recorder)
    return [first, *(first.another(f"{CONTEXT}-{number}") for number in range(2, options.front_ends + 1))]


async def _listening(server: ApiServer, port: int, tls: ssl.SSLContext | None) -> HttpDoor:
    """Raises ConfigError in the words of the command line."""
    try:
        return await serve(server, HOST, port, ssl_context=tls)
    except ConfigError as error:
        raise ConfigError("--port", str(error).removeprefix(f"{error.path}: ")) from error


def _tls(options: ServeOptions) -> ssl.SSLContext | None:
    """Raises ConfigError."""
    if options.certificate is None or options.key is None:
        return None
    for option, file in (("--certificate", options.certificate), ("--key", options.key)):
        try:
            file.read_bytes()
        except OSError as error:
            raise ConfigError(option, f"cannot read {file}: {error.strerror}") from error
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(options.certificate, options.key, password=_no_password)
    except OSError as error:  # SSLError is one
        what = f"{options.certificate} and {options.key} are no certificate and its key: {error}"
        raise ConfigError("--certificate", what) from error
    except ValueError as error:
        raise ConfigError("--key", f"{options.key} is encrypted; give one that is not") from error
    return context


def _no_password() -> str:
    """Without an answer OpenSSL would ask the terminal."""
    raise ValueError("no password")


async def _create(server: ApiServer, document: Document, token: str) -> None:
    body = document.body
    name = body["metadata"].get("name") or body["metadata"].get("generateName") or ""
    kind = server.registry.of(*document.type)
    what = f"{document.place}: {body['kind']} {name!r}"
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
        *urls, name=CONTEXT, token=options.admin_token or "", authority=options.certificate, namespace=NAMESPACE
    )
    how = ""
    if options.kubeconfig is None:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        try:
            write_kubeconfig(options.kubeconfig, text)
        except OSError as error:
            raise ConfigError("--write-kubeconfig", f"cannot write {options.kubeconfig}: {error.strerror}") from error
        how = f"; kubectl --kubeconfig {options.kubeconfig} get namespaces"
    sys.stderr.write(f"serving the Kubernetes API at {' '.join(urls)}{how}; Ctrl-C ends it\n")
    sys.stderr.flush()
