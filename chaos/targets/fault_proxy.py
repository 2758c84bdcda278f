"""The recorder with faults in front of any API server, as a process of its own, until it is told to end.

    python -m chaos.targets.fault_proxy --kubeconfig FILE --write-kubeconfig FILE --journal FILE

--other NAME=KUBECONFIG: a second API server of the same cluster, to which the fault `stale_replica` can send requests.
The kubeconfig that it writes leads through it; its control endpoint is under /-/ there.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlencode

from multidict import CIMultiDict

from fleet.devcluster.proxy.door import FaultProxy
from fleet.devcluster.proxy.upstream import Upstream
from fleet.devcluster.recording.journal import Level
from fleet.devcluster.recording.journalfile import KEPT_BESIDE_A_FILE, JournalFile
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.recording.tap import exchange
from fleet.devcluster.wire.answers import Answer
from fleet.devcluster.wire.requests import Request
from fleet.processes.prctl import set_parent_death_signal


async def _serve(kubeconfig: str, through: Path, journal: Path, others: Mapping[str, str]) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    recorder = Recorder(level=Level.DELIVERIES, limit=KEPT_BESIDE_A_FILE)
    async with AsyncExitStack() as stack:
        stack.callback(JournalFile(recorder, journal).close)
        proxy = await FaultProxy.start(await Upstream.of(kubeconfig), recorder=recorder)
        stack.push_async_callback(proxy.close)
        for name, other in others.items():
            upstream = await Upstream.of(other)
            stack.push_async_callback(upstream.close)
            proxy.faults.routes[name] = partial(send_as_written, upstream, recorder)
        proxy.write_kubeconfig(through)
        await stop.wait()


async def send_as_written(upstream: Upstream, recorder: Recorder, request: Request) -> Answer:
    """A request that a fault sends elsewhere, as the client wrote it."""
    query = f"?{urlencode(request.query)}" if request.query else ""
    answer = await upstream.send(request, f"{quote(request.path)}{query}", CIMultiDict(request.headers))
    exchange(recorder, request, answer)
    return answer


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m chaos.targets.fault_proxy", description=__doc__)
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--write-kubeconfig", required=True, type=Path)
    parser.add_argument("--journal", required=True, type=Path)
    parser.add_argument("--other", action="append", default=[], metavar="NAME=KUBECONFIG")
    asked = parser.parse_args(arguments)
    set_parent_death_signal(signal.SIGTERM)
    others = dict(each.split("=", 1) for each in asked.other)
    asyncio.run(_serve(asked.kubeconfig, asked.write_kubeconfig, asked.journal, others))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
