from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from fleet import __version__, cli, look
from fleet.processes import rundir
from fleet.records.coordination import CoordinationUnavailable
from fleet.status import statusview
from fleet.status.status_reader import FleetNotFound
from fleet.status.status_rows import FailingRow, QuarantineRow, WaitingRow
from fleet.status.statusview import FleetStatus, Sight, fleet_status
from shards.errors import ConfigError, ShardError

ROOT = Path(__file__).parents[3]
WEBSITES = f"{ROOT}/docs/examples/websites.py:websites"

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: here
clusters: [{name: here, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: me, user: {}}]
contexts: [{name: here, context: {cluster: here, user: me}}]
"""


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


class Fleet:
    """Runs the command in this process, in a directory of its own."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.directory = directory
        self.capsys = capsys

    def __call__(self, *arguments: str) -> Outcome:
        code = cli.main(arguments)
        captured = self.capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    def config(self, text: str) -> str:
        file = self.directory / "fleet.yaml"
        file.write_text(text)
        return str(file)

    def kubeconfig(self) -> str:
        file = self.directory / "kubeconfig"
        file.write_text(KUBECONFIG)
        return str(file)


@pytest.fixture
def fleet(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Fleet:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    return Fleet(tmp_path, capsys)


def test_the_version_is_printed(fleet: Fleet) -> None:
    assert fleet("version").out.startswith(f"fleet {__version__} (Python 3.")


def test_the_version_needs_none_of_the_heavy_imports() -> None:
    heavy = ["aiohttp", "kubernetes", "rich", "yaml", "uvloop", "prometheus_client"]
    code = (
        "import sys; from fleet.cli import main; main(['version']);"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "[]"


CONFIG_ERRORS = {
    "a missing file": (None, "cannot read the config file"),
    "an unknown field": (f"fleet: web\ncontroller: {WEBSITES}\nshards: {{coutn: 1}}", "shards.coutn: there is no such"),
    "impossible timing": (
        f"fleet: web\ncontroller: {WEBSITES}\ncoordination: {{renewSeconds: 7}}",
        "coordination.renewSeconds: twice 7 is not below the deadline of 6.8 seconds",
    ),
    "a controller that cannot be imported": ("fleet: web\ncontroller: nowhere_x:app", "controller: there is no module"),
    "an object that is missing": (f"fleet: web\ncontroller: {WEBSITES}x", "has no 'websitesx'; did you mean websites?"),
    "an object that is no controller": (
        f"fleet: web\ncontroller: {ROOT}/docs/examples/websites.py:reconcile",
        "is of type function, not Controller",
    ),
}


@pytest.mark.parametrize(("text", "sentence"), CONFIG_ERRORS.values(), ids=CONFIG_ERRORS)
def test_a_bad_config_is_one_sentence_and_exit_code_2(fleet: Fleet, text: str | None, sentence: str) -> None:
    file = "none.yaml" if text is None else fleet.config(text)
    outcome = fleet("run", "--config", file)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("fleet: ")
    assert sentence in outcome.err
    assert outcome.err.count("\n") == 1


def test_an_unreachable_server_is_one_sentence_and_exit_code_1(fleet: Fleet) -> None:
    file = fleet.config(f"fleet: web\ncontroller: {WEBSITES}\nagent: {{metricsPort: -1}}")
    outcome = fleet("run", "--config", file, "--kubeconfig", fleet.kubeconfig())
    assert outcome.code == 1
    assert outcome.err.startswith("fleet: the API server http://127.0.0.1:9 cannot be reached (")
    assert outcome.err.endswith("is it running, and is the kubeconfig's server right?\n")
    assert outcome.err.count("\n") == 1


def test_a_traceback_is_shown_when_asked_for(fleet: Fleet) -> None:
    outcome = fleet("--traceback", "run", "--config", "none.yaml")
    assert outcome.code == 2
    assert outcome.err.startswith("Traceback")
    assert "ConfigError: cannot read the config file none.yaml" in outcome.err


def test_status_without_a_server_says_so(fleet: Fleet) -> None:
    outcome = fleet("status", "--kubeconfig", fleet.kubeconfig())
    assert (outcome.code, outcome.err.count("\n")) == (1, 1)
    assert "cannot be reached" in outcome.err


def dev_state(fleet: Fleet) -> rundir.DevState:
    return rundir.DevState(
        pid=os.getpid(),
        started=rundir.started(os.getpid()) or 0,
        fleet="dev",
        namespace="default",
        kubeconfig=fleet.kubeconfig(),
        server="http://127.0.0.1:9",
    )


def test_status_asks_the_running_dev(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    state = dev_state(fleet)
    monkeypatch.setattr(rundir, "running_devs", lambda: [state, state])
    outcome = fleet("status")
    assert outcome.err.startswith(f"fleet: 2 fleet dev are running; showing the newest, pid {os.getpid()};")
    assert f" --kubeconfig {state.kubeconfig}\n" in outcome.err
    assert "http://127.0.0.1:9 cannot be reached" in outcome.err


def test_status_without_a_kubeconfig_says_that_no_dev_runs_either(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(fleet.directory))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    outcome = fleet("status")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert outcome.err.startswith("fleet: no `fleet dev` of this user is running; kubeconfig: ")
    assert "fleet dev" not in fleet("status", "--context", "x").err


def test_a_fleet_that_the_running_dev_does_not_have_is_said_to_be_missing_there(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none_there(*_: object) -> None:
        raise FleetNotFound("no fleet 'web'")

    monkeypatch.setattr(rundir, "running_devs", lambda: [dev_state(fleet)])
    monkeypatch.setattr(look, "_connected", none_there)
    outcome = fleet("status", "--fleet", "web")
    assert (outcome.code, outcome.err) == (
        1,
        "fleet: no fleet 'web'; asked was the running `fleet dev`, --kubeconfig asks another server\n",
    )
    assert fleet("status", "--kubeconfig", "x").err == "fleet: no fleet 'web'\n"


@pytest.mark.parametrize(
    ("maybe", "sure"), [(True, "it is not known whether that was done"), (False, "nothing was changed")]
)
def test_records_that_may_not_be_changed_are_told_in_one_sentence(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, maybe: bool, sure: str
) -> None:
    def refused(_: object) -> None:
        raise CoordinationUnavailable("change of web-config: 403 Forbidden", maybe_applied=maybe)

    class Transport:
        host = "https://there"

        async def close(self) -> None:
            pass

    async def connect(**_: object) -> Transport:
        return Transport()

    monkeypatch.setattr(look, "connect", connect)
    monkeypatch.setattr(look, "_client", refused)
    outcome = fleet("reshard", "--count", "8", "--kubeconfig", "x", "-n", "prod")
    assert (outcome.code, outcome.err) == (
        1,
        f"fleet: https://there: change of web-config: 403 Forbidden; {sure}\n",
    )


@pytest.mark.parametrize("command", ["dev", "run", "status", "version"])
def test_the_summary_of_no_command_is_cut(fleet: Fleet, command: str) -> None:
    [line] = [line for line in fleet("--help").out.splitlines() if line.startswith(f"  {command} ")]
    assert line.endswith(".")
    assert not line.endswith("...")


DEV_ERRORS = {
    "no object named": (["dev", "websites.py"], "names no controller; write module:object or path/file.py:object"),
    "an odd kill": (["dev", WEBSITES, "--kill", "worker@soon"], "--kill: 'worker@soon' is no kill"),
    "two ends": (["dev", WEBSITES, "--for", "1", "--until-settled"], "--for: give --until-settled or --for, not both"),
    "a log that cannot be written": (["dev", WEBSITES, "--log-file", "none/x"], "--log-file: cannot write none/x: No"),
    "a CRD that is not there": (["dev", WEBSITES, "--crd", "none.yaml"], "--crd: cannot read none.yaml"),
}


@pytest.mark.parametrize(("arguments", "sentence"), DEV_ERRORS.values(), ids=DEV_ERRORS)
def test_bad_arguments_of_dev_are_one_sentence_and_exit_code_2(
    fleet: Fleet, arguments: list[str], sentence: str
) -> None:
    outcome = fleet(*arguments)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert sentence in outcome.err


def test_an_unknown_option_is_exit_code_2(fleet: Fleet) -> None:
    outcome = fleet("dev", WEBSITES, "--wrokers", "3")
    assert outcome.code == 2
    assert "--workers" in outcome.err


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (ConfigError("fleet", "is wrong"), 2, "fleet: fleet: is wrong\n"),
        (ShardError("no luck"), 1, "fleet: no luck\n"),
        (ZeroDivisionError("by zero"), 1, "fleet: unexpected ZeroDivisionError: by zero; --traceback shows where\n"),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 1, ""),
    ],
)
def test_whatever_escapes_has_a_code_and_at_most_one_sentence(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, sentence: str
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(cli.cli, "main", fail)
    outcome = fleet("version")
    assert (outcome.code, outcome.err) == (code, sentence)


FAILS = FailingRow(
    "sites", "default/a", "0" * 16 + "-" + "f" * 16, "web-0-0", "2026-11-30T10:00:00Z", 7, "E at a.py:1", False
)
WAITS = WaitingRow(
    "sites", "default/b", "0" * 16 + "-" + "f" * 16, "web-0-0", "2026-11-30T10:00:00Z", 7, "not ready", "a child"
)
KILLS = QuarantineRow(
    controller="sites",
    key="default/c",
    uid="u",
    quarantined=True,
    deaths=3,
    since="2026-11-30T09:00:00Z",
    last="2026-11-30T09:01:00Z",
    ended="SIGSEGV",
    words="",
    worker="web-0-0",
    generation=4,
)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("--failing",), "sites       default/a  0000-ffff  web-0-0  2026-11-30T10:00:00Z"),
        (("--failing",), "sites       default/b  0000-ffff  web-0-0  2026-11-30T10:00:00Z"),
        (("--failing", "-o", "json"), '"failingKeys": 3'),
        (("--failing", "-o", "json"), '"waitsFor": "not ready"'),
        ((), "3 keys keep failing  1 key waits for long  1 key is quarantined: --failing"),
        (("-o", "json"), '"failingKeys": 3'),
        (("--failing",), "sites       default/c  quarantined       3  2026-11-30T09:00:00Z"),
        (("--failing", "-o", "json"), '"deaths": 3'),
        ((), "1 key is quarantined: --failing  2 objects are paused"),
    ],
)
def test_status_shows_which_keys_keep_failing(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], shown: str
) -> None:
    async def nobody(*_: object) -> Sight:
        return Sight("web", "default", None, {}, {}, None)

    def some_fail(sight: Sight) -> FleetStatus:
        stuck = {"failing_keys": 3, "failing": (FAILS,), "waiting_keys": 1, "waiting": (WAITS,)}
        stuck |= {"quarantine": (KILLS,), "paused_keys": 2}
        return msgspec.structs.replace(fleet_status(sight), **stuck)

    monkeypatch.setattr(look, "_connected", nobody)
    monkeypatch.setattr(statusview, "fleet_status", some_fail)
    outcome = fleet("status", "--kubeconfig", "x", *arguments)
    assert outcome.code == 0
    assert shown in outcome.out


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (
            (),
            "sites       default/c  quarantined       3  2026-11-30T09:00:00Z  2026-11-30T09:01:00Z  SIGSEGV  web-0-0",
        ),
        (("-o", "json"), '"ended": "SIGSEGV"'),
    ],
)
def test_the_quarantine_is_listed(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], shown: str
) -> None:
    async def nobody(*_: object) -> Sight:
        return Sight("web", "default", None, {}, {}, None)

    monkeypatch.setattr(look, "_connected", nobody)
    assert fleet("quarantine", "list", "--kubeconfig", "x").out.startswith("no key of web is quarantined")

    def one_kills(sight: Sight) -> FleetStatus:
        return msgspec.structs.replace(fleet_status(sight), quarantine=(KILLS,))

    monkeypatch.setattr(statusview, "fleet_status", one_kills)
    outcome = fleet("quarantine", "list", "--kubeconfig", "x", *arguments)
    assert outcome.code == 0
    assert shown in outcome.out


@pytest.mark.parametrize("arguments", [(), ("default/a", "--all")])
def test_a_release_names_one_key_or_all(fleet: Fleet, arguments: tuple[str, ...]) -> None:
    outcome = fleet("quarantine", "release", "--kubeconfig", "x", *arguments)
    assert outcome.code == 2
    assert "give one key, such as default/site-3, or --all" in outcome.err
