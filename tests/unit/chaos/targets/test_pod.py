"""What becomes of processes when those who started them are gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from chaos.targets.pod import TIED, Pod
from tests.unit.chaos.targets.test_local_pods import state, wait_for

_PARENT = f"""
import os, signal, subprocess, sys
code = {TIED!r} + "print('tied', flush=True); signal.pause()"
child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
child.stdout.readline()
child.send_signal(signal.SIGSTOP)
os.waitid(os.P_PID, child.pid, os.WSTOPPED)
print(child.pid, flush=True)
signal.pause()
"""


def test_a_process_that_stands_still_does_not_stay_behind_when_the_command_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", _PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert state(pid) == "T"
        parent.kill()
    wait_for(lambda: not Path(f"/proc/{pid}").exists() or state(pid) == "Z")


def test_a_ctrl_c_in_the_terminal_is_not_for_the_pods(tmp_path: Path) -> None:
    command = ("/bin/sh", "-c", "exec sleep 60")
    with Pod("a", tmp_path, tmp_path, tmp_path, command=command) as pod:
        assert pod.process is not None
        assert os.getpgid(pod.process.pid) == pod.process.pid
