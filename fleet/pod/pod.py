"""One pod's worth of a fleet: the composition root of `fleet run`, which `fleet dev` uses just the same.

Everything is imported here before the first fork, the author's module too, so that a restarted worker is warm; the
checks at start run here as well. Then the supervisor takes this process over.
"""

from __future__ import annotations

import asyncio
import math
import os
import secrets
import socket
import uuid
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from fleet import __version__
from fleet.configuration.config import FleetConfig
from fleet.configuration.rollout_checks import check_controllers, parse_labels
from fleet.logs.logs import LogSettings, log_to_stderr
from fleet.pod.plan import RunPlan
from fleet.pod.preflight import check_port, check_server
from fleet.pod.roles import run_agent, run_worker
from fleet.processes import rundir
from fleet.processes.exitcodes import EX_CONFIG, EX_OK
from fleet.processes.recycling import RecycleSettings
from fleet.processes.supervisor import ChildSpec, Supervisor
from fleet.records.object_names import Names
from fleet.records.record import MAX_WEIGHT, MIN_WEIGHT
from shards.api.client import Client
from shards.authoring.controller import Controller
from shards.errors import ConfigError
from shards.keyrange import PartitionKey
from shards.transport.kube import connect


def prepare(
    config: FleetConfig,
    controllers: Sequence[Controller],
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
    run_dir: Path | None = None,
    journal_dir: Path | None = None,
    config_file: Path | None = None,
    pod: str = "",
    labels: Sequence[str] = (),
) -> RunPlan:
    """Checks everything that can be checked before a process is forked, and draws up the plan.

    Pod name, UID and namespace come from POD_NAME, POD_UID and POD_NAMESPACE (the downward API); outside a pod they
    are the host's name, a fresh UUID and the kubeconfig's namespace. pod: a name that goes before all of these.
    labels: name=value each, of the pod's members; they go before those of FLEET_LABELS. FLEET_WEIGHT goes before
    `workers.weight`, for pods that are larger or smaller than the others of their fleet.
    Raises ConfigError, PreflightFailed.
    """
    check_controllers(config.canary, [each.name for each in controllers])
    check_port(config.agent.address, config.agent.metrics_port, "agent.metricsPort")
    namespace, keys = asyncio.run(_checked_server(config, controllers, kubeconfig, context))
    pod = pod or os.environ.get("POD_NAME") or socket.gethostname().lower()
    # The longest Lease name, so that an impossible one is refused here and not by every worker.
    Names(config.fleet, namespace).member(f"{pod}-{config.workers.per_pod - 1}")
    return RunPlan(
        config=config,
        controllers=tuple(controllers),
        kubeconfig=kubeconfig,
        context=context,
        pod=pod,
        pod_uid=os.environ.get("POD_UID") or str(uuid.uuid4()),
        namespace=namespace,
        revision=os.environ.get("POD_REVISION", ""),
        run_dir=rundir.create("run", run_dir),
        partition_keys=keys,
        journal_dir=journal_dir,
        labels=labels_of(pod, labels),
        weight=weight_of(config),
        config_file=config_file.absolute() if config_file is not None else None,
    )


def run(plan: RunPlan) -> int:
    """Supervises agent and workers until a signal says stop; removes the run directory. Returns the exit code.

    Children are called `agent` and `worker-<slot>`; slots of workers count from 0, the agent's comes after them.
    """
    workers = plan.config.workers
    logs = LogSettings(level=plan.config.log.level.upper(), format=plan.config.log.format)
    log_to_stderr(logs)
    children = [ChildSpec("agent", workers.per_pod, partial(run_agent, plan=plan), agent=True)]
    children += [ChildSpec(f"worker-{slot}", slot, partial(run_worker, plan=plan)) for slot in range(workers.per_pod)]
    supervisor = Supervisor(
        children,
        supervisor_id=f"{plan.pod_uid}.{secrets.token_hex(4)}",
        run_dir=plan.run_dir,
        grace_seconds=workers.grace_seconds,
        away_seconds=plan.config.away_seconds,
        recycling=RecycleSettings(workers.recycle_at_share, workers.memory_limit_mib),
        logs=logs,
    )
    try:
        return supervisor.run()
    finally:
        rundir.remove(plan.run_dir)


def exit_code(ended: int) -> int:
    """The command's exit code for the supervisor's: 2 for a refused configuration, 1 for any other failure."""
    return {EX_OK: 0, EX_CONFIG: 2}.get(ended, 1)


def labels_of(pod: str, given: Sequence[str]) -> dict[str, str]:
    """The pod's name is a label of its members, unless somebody gives another one of that name."""
    environment = [text for text in os.environ.get("FLEET_LABELS", "").split(",") if text.strip()]
    written = parse_labels("FLEET_LABELS", [text.strip() for text in environment])
    return {"pod": pod} | written | parse_labels("--label", given)


def weight_of(config: FleetConfig) -> float:
    """Of each of the pod's workers. Raises ConfigError."""
    text = os.environ.get("FLEET_WEIGHT", "").strip()
    try:
        weight = float(text) if text else config.workers.weight
    except ValueError:
        weight = math.nan
    if not MIN_WEIGHT <= weight <= MAX_WEIGHT:
        raise ConfigError(
            "FLEET_WEIGHT", f"{text!r} is no weight; write a number of at least {MIN_WEIGHT:g}, at most {MAX_WEIGHT:g}"
        )
    return weight


async def _checked_server(
    config: FleetConfig, controllers: Sequence[Controller], kubeconfig: str | None, context: str | None
) -> tuple[str, tuple[PartitionKey, ...]]:
    """The fleet's namespace, and the partition keys that its primaries can have."""
    transport = await connect(kubeconfig=kubeconfig, context=context)
    try:
        namespace = os.environ.get("POD_NAMESPACE") or transport.namespace
        keys = await check_server(
            Client(transport, user_agent=f"fleet-preflight/{__version__}", timeout_seconds=10.0),
            transport.host,
            controllers,
            partition_by=config.shards.partition_by,
            scope=config.shard_settings().scope,
            names=Names(config.fleet, namespace),
        )
        return namespace, keys
    finally:
        await transport.close()
