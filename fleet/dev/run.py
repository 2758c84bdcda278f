"""`fleet dev` from beginning to end: server, fleet, session, report; nothing is left behind."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path

import click
import msgspec

from fleet import __version__
from fleet.backends.kubernetes_leases import KubernetesCoordination
from fleet.configuration.controllers import LoadedController, load_controller
from fleet.dev import endings
from fleet.dev.demo import Demo, find_demo
from fleet.dev.options import FLEET, NAMESPACE, POD, SERVER_JOURNAL, DevOptions
from fleet.dev.process import Part, Say, start
from fleet.dev.report import Report
from fleet.dev.server import kubeconfig_of, run_server
from fleet.dev.session import Interrupted, Session
from fleet.dev.view import View
from fleet.dev.warnings_log import WarningsLog
from fleet.devcluster.doors.kubeconfig import write_kubeconfig
from fleet.pod import pod
from fleet.processes import rundir
from fleet.records.record import Document, DocumentName
from shards.errors import ConfigError
from shards.objects import Object
from shards.transport.kube import connect

_SERVER_SECONDS = 20.0

EXIT_BROKEN = 1
EXIT_INTERRUPTED = 130


def run_dev(options: DevOptions) -> int:
    """Returns the exit code: 0; 1 where a promise was broken or the objects did not settle; 130 for a Ctrl-C before
    the end that was asked for. Raises ConfigError and other ShardErrors for everything that keeps it from running."""
    loaded = load_controller(options.reference, base=Path.cwd())
    demo = find_demo(loaded.module, loaded.controller.primary, options.crds)
    objects = demo.objects(options.objects)
    with endings.interrupt():
        directory = rundir.create("dev")
        parts: list[Part] = []
        try:
            log = WarningsLog(options.log_file or directory / "fleet.log")
            return _run(options, loaded, demo, objects, directory, log, parts)
        finally:
            endings.ignore()  # what follows takes seconds at most, and must not be left half done
            for part in reversed(parts):
                part.end()
            rundir.remove(directory)


def _run(
    options: DevOptions,
    loaded: LoadedController,
    demo: Demo,
    objects: list[Object],
    directory: Path,
    log: WarningsLog,
    parts: list[Part],
) -> int:
    log_fd = _opened(log.file)
    namespaces = {namespace for obj in objects if (namespace := obj["metadata"].get("namespace"))}
    journal = options.journal / SERVER_JOURNAL if options.journal is not None else None
    serve = partial(run_server, port=options.port, crds=demo.crds, namespaces=namespaces, journal=journal)
    server = start("embedded API server", serve, log_fd)
    parts.append(server)
    url = server.wait_ready(_SERVER_SECONDS)
    kubeconfig = directory / "kubeconfig.yaml"
    write_kubeconfig(kubeconfig, kubeconfig_of(url))
    asyncio.run(_write_config(options, kubeconfig))
    run_dir = directory / "pod"
    fleet = start(
        "fleet", partial(_run_pod, options=options, loaded=loaded, kubeconfig=kubeconfig, run_dir=run_dir), log_fd
    )
    parts.append(fleet)
    rundir.write_dev_state(
        directory,
        rundir.DevState(
            pid=os.getpid(),
            started=rundir.started(os.getpid()) or 0,
            fleet=FLEET,
            namespace=NAMESPACE,
            kubeconfig=str(kubeconfig),
            server=url,
        ),
    )
    with View(to_stderr=options.as_json) as view:
        view.say(f"API server {url} (export KUBECONFIG={kubeconfig})")
        view.say(f"log {log.file}{'' if options.log_file else ' (removed at the end; --log-file keeps it)'}")
        try:
            report = endings.run(
                lambda stop: _session(
                    stop, options, loaded, demo, objects, kubeconfig, run_dir, server, fleet, view, log
                )
            )
        except Interrupted:
            return EXIT_INTERRUPTED
    return _conclude(options, report, view)


def _opened(log_file: Path) -> int:
    """A descriptor of the emptied file. Raises ConfigError."""
    try:
        return os.open(log_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    except OSError as error:
        raise ConfigError("--log-file", f"cannot write {log_file}: {error.strerror}") from error


async def _write_config(options: DevOptions, kubeconfig: Path) -> None:
    """The ConfigMap that `fleet reshard` edits, and the coordinator follows."""
    transport = await connect(kubeconfig=str(kubeconfig))
    try:
        coordination = KubernetesCoordination(
            transport, fleet=FLEET, namespace=NAMESPACE, user_agent=lambda: f"fleet-dev/{__version__}"
        )
        await coordination.write_document(Document(DocumentName.CONFIG, options.config_text(), ""))
    finally:
        await transport.close()


def _run_pod(say: Say, *, options: DevOptions, loaded: LoadedController, kubeconfig: Path, run_dir: Path) -> int:
    """What `fleet run` does, with a config of our own."""
    plan = pod.prepare(
        options.config(),
        [loaded.controller],
        kubeconfig=str(kubeconfig),
        run_dir=run_dir,
        journal_dir=options.journal,
        pod=POD,
    )
    say("prepared")
    return pod.run(plan)


async def _session(
    stop: asyncio.Event,
    options: DevOptions,
    loaded: LoadedController,
    demo: Demo,
    objects: list[Object],
    kubeconfig: Path,
    run_dir: Path,
    server: Part,
    fleet: Part,
    view: View,
    log: WarningsLog,
) -> Report:
    transport = await connect(kubeconfig=str(kubeconfig))
    try:
        session = Session(
            options,
            loaded.controller,
            demo,
            objects,
            transport=transport,
            run_dir=run_dir,
            server=server,
            pod=fleet,
            view=view,
            log=log,
        )
        return await session.run(stop)
    finally:
        await transport.close()


def _conclude(options: DevOptions, report: Report, view: View) -> int:
    if options.as_json:
        click.echo(msgspec.json.encode(report).decode())
    else:
        view.summary(report)
    if report.broken:
        click.echo(f"fleet: a promise was broken: {report.broken}", err=True)
        return EXIT_BROKEN
    if options.until_settled and not report.settled:
        click.echo(f"fleet: not settled after {options.timeout_seconds:g} seconds", err=True)
        return EXIT_BROKEN
    return 0
