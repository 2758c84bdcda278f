"""`fleet adopt`, from the config file to what it says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from fleet import __version__
from fleet.configuration.config import FleetConfig
from fleet.pod.preflight import explained
from shards.authoring.controller import Controller
from shards.clock import boot_seconds
from shards.filtering.adoption import Adoption, Count
from shards.transport.kube import connect
from shards.view_filters import best_sources


def adopt(
    config: FleetConfig,
    controllers: Sequence[Controller],
    *,
    kubeconfig: Path | None,
    context: str | None,
    rate: float,
    write: bool,
    told: Callable[[Count], None],
) -> list[Count]:
    """One look, or an adoption. Raises ShardError."""

    async def run() -> list[Count]:
        transport = await connect(kubeconfig=str(kubeconfig) if kubeconfig else None, context=context)
        try:
            with explained(transport.host):
                adoption = Adoption(
                    transport,
                    best_sources(controllers, config.shard_settings(), config.shards.partition_by),
                    boot_seconds,
                    rate=rate,
                    user_agent=f"fleet-adopt/{__version__}",
                    told=told,
                )
                return await (adoption.adopt() if write else adoption.look())
        finally:
            await transport.close()

    return asyncio.run(run())


def sentences(counts: Sequence[Count], *, written: bool, rate: float) -> list[str]:
    """One line a resource, and what to do next."""
    lines = [_about(each, written=written) for each in counts]
    left = sum(each.left for each in counts)
    if not counts:
        return ["no controller of this fleet owns children"]
    if not left:
        lines.append("0 children are left without their slot label: featureGates.SlotLabels may be on")
    elif written:
        lines.append(f"{left} are left, which changed meanwhile: run it again")
    else:
        lines.append(f"nothing was written; --yes writes {left} labels, which takes {left / rate:.0f} s")
    return lines


def _about(count: Count, *, written: bool) -> str:
    wrong = f", {count.wrong} with that of another owner" if count.wrong else ""
    adopted = f", {count.adopted} got it now" if written else ""
    return f"{count.resource}: {count.children} children, {count.missing} without their slot label{wrong}{adopted}"
