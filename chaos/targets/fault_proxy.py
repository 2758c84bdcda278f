"""The recorder with faults in front of any API server, as a process of its own, until it is told to end.

    python -m chaos.targets.fault_proxy --kubeconfig FILE --write-kubeconfig FILE --journal FILE

The kubeconfig that it writes leads through it; its control endpoint is under /-/ there.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from fleet.devcluster.proxy.door import FaultProxy
from fleet.devcluster.proxy.upstream import Upstream
from fleet.devcluster.recording.journal import Level
from fleet.devcluster.recording.journalfile import KEPT_BESIDE_A_FILE, JournalFile
from fleet.devcluster.recording.recorder import Recorder
from fleet.processes.prctl import set_parent_death_signal


async def _serve(kubeconfig: str, through: Path, journal: Path) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    recorder = Recorder(level=Level.DELIVERIES, limit=KEPT_BESIDE_A_FILE)
    written = JournalFile(recorder, journal)
    try:
        proxy = await FaultProxy.start(await Upstream.of(kubeconfig), recorder=recorder)
        try:
            proxy.write_kubeconfig(through)
            await stop.wait()
        finally:
            await proxy.close()
    finally:
        written.close()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m chaos.targets.fault_proxy", description=__doc__)
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--write-kubeconfig", required=True, type=Path)
    parser.add_argument("--journal", required=True, type=Path)
    asked = parser.parse_args(arguments)
    set_parent_death_signal(signal.SIGTERM)
    asyncio.run(_serve(asked.kubeconfig, asked.write_kubeconfig, asked.journal))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
