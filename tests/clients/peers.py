"""Controllers written with other libraries, doing their work against any API server. Sources: benchmarks/peers."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.gobuild import BuildFailed, GoProgram, Say, cache_root, locked, run_compiler

SOURCE = Path(__file__).resolve().parents[2] / "benchmarks" / "peers"
PEERS = (
    "client-go",
    "cr-unstructured",
    "cr-typed",
    "kube-rs-dynamic",
    "kube-rs-typed",
    "kopf",
    "py-kubernetes",
    "shardfleet",
)
"""Tables of peers.toml."""
GO_PROGRAMS = ("benchtool", "peer-client-go", "peer-controller-runtime", "peer-floor")
WORK_SECONDS = 120.0
QUIET_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Toolbox:
    """What the peers are run with: variables of their commands."""

    variables: dict[str, str]

    @property
    def benchtool(self) -> str:
        return str(Path(self.variables["BIN"]) / "benchtool")


def build(say: Say) -> Toolbox:
    """Builds what is not cached, one after the other: minutes from nothing. Raises BuildFailed."""
    python = str(_python(say))
    return Toolbox(
        {
            "HERE": str(SOURCE),
            **compiled(say),
            "KOPF_PYTHON": python,
            "KUBERNETES_PYTHON": python,
            "FLEET_PYTHON": sys.executable,
        }
    )


def compiled(say: Say) -> dict[str, str]:
    """Where the peers in Go and in Rust are, as variables of their commands; built as `build` does."""
    programs = [_go_program(name).ensure(say) for name in GO_PROGRAMS]
    return {"BIN": str(programs[0].parent), "RUST": str(_rust(say).parent)}


def _go_program(name: str) -> GoProgram:
    source = SOURCE / "go"
    found = sorted(str(path.relative_to(source)) for path in source.rglob("*.go"))
    notice = f"building {name}; a minute or two when nothing is cached"
    return GoProgram(name, "peers", source, (*found, "go.mod", "go.sum"), notice, f"./cmd/{name}")


def _digest(files: list[Path]) -> str:
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()[:32]


def _rust(say: Say) -> Path:
    source = SOURCE / "rust"
    files = [source / "Cargo.toml", source / "Cargo.lock", *sorted((source / "src").rglob("*.rs"))]
    target = cache_root() / "peers-rust" / _digest(files) / "peer-kube-rs"
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(target.parent / "lock"):
        if target.exists():
            return target
        say("building the Rust peer; about seven minutes when nothing is cached")
        output = cache_root() / "peers-rust" / "target"
        try:
            run_compiler(
                ["cargo", "build", "--release", "--locked", "--jobs=1"], source, say, {"CARGO_TARGET_DIR": str(output)}
            )
        except FileNotFoundError:
            raise BuildFailed("the Rust peer is built from source: install Rust 1.95 or later") from None
        shutil.copy2(output / "release" / target.name, target)
    return target


def _python(say: Say) -> Path:
    """The interpreter of an environment with the requirements of the Python peers."""
    requirements = [SOURCE / "python" / f"requirements-{name}.txt" for name in ("kopf", "kubernetes")]
    target = cache_root() / "peers-python" / _digest(requirements)
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(target.with_suffix(".lock")):
        if not (target / "complete").exists():
            say("installing the Python peers")
            listed = [word for path in requirements for word in ("--requirement", str(path))]
            python = str(target / "bin" / "python")
            for command in (
                [sys.executable, "-m", "venv", str(target)],
                [python, "-m", "pip", "install", "-q", *listed],
            ):
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode:
                    raise BuildFailed(f"{' '.join(command)}: {done.stderr}")
            (target / "complete").touch()
    return target / "bin" / "python"


@dataclass(frozen=True, slots=True)
class Bench:
    """One server and the tool that fills it. Its widgets live in namespaces of fixed names."""

    toolbox: Toolbox
    kubeconfig: Path

    def tool(self, *arguments: str) -> dict[str, Any]:
        """The last line that a benchtool command says. Raises RuntimeError with what it complains about."""
        command = [self.toolbox.benchtool, *arguments]
        done = subprocess.run(command, env=self.environment(), capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"benchtool {' '.join(arguments)}: {done.stderr}")
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1]) if done.stdout.strip() else {}
        return found

    def objects(self, path: str) -> list[dict[str, Any]]:
        """What a list answers, each with its managed fields."""
        environment = self.environment()
        request = urllib.request.Request(environment["SERVER"] + path)
        if "TOKEN" in environment:
            request.add_header("Authorization", f"Bearer {environment['TOKEN']}")
        trust = ssl.create_default_context(cafile=environment.get("CA_FILE"))
        with urllib.request.urlopen(request, context=trust) as answer:
            found: list[dict[str, Any]] = json.load(answer)["items"]
        return found

    def writes(self) -> int:
        """How many writes to widgets, their children and events the server has answered so far."""
        counted = self.tool("requests")["requests"]
        wanted = ("widgets", "configmaps", "events")
        return sum(
            int(count)
            for key, count in counted.items()
            if key.split()[0] in ("POST", "PUT", "PATCH", "APPLY") and key.split()[-1].partition("/")[0] in wanted
        )

    @contextmanager
    def running(self, peer: str, widgets: int, log: Path) -> Iterator[None]:
        """The peer at work. Its standard error goes to the log."""
        table = tomllib.loads((SOURCE / "peers.toml").read_text())[peer]
        variables = {**self.environment(), "WORKLOAD": "work", "N": str(widgets), **table.get("also", {})}
        command = [_expanded(part, self.toolbox.variables) for part in table["command"]]
        with log.open("ab") as errors, log.with_suffix(".out").open("ab") as out:
            process = subprocess.Popen(command, env=variables, stdout=out, stderr=errors)
            try:
                yield
            finally:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def environment(self) -> dict[str, str]:
        """This process's variables, and where the server is, as the peers ask for it."""
        config = yaml.safe_load(self.kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0].get("user") or {}
        found = {
            "KUBECONFIG": str(self.kubeconfig),
            "SERVER": cluster["server"],
            "TOKEN": user.get("token", ""),
            "CA_FILE": cluster.get("certificate-authority", ""),
        }
        return {**os.environ, **{name: value for name, value in found.items() if value}}


def _expanded(part: str, variables: dict[str, str]) -> str:
    for name, value in variables.items():
        part = part.replace(f"${name}", value)
    return part


@dataclass(frozen=True, slots=True)
class Done:
    """What a peer did: seconds from its start until the last widget was ready, and the objects that it left."""

    widgets: int
    writes: int
    seconds: float
    left: list[dict[str, Any]]


def work(bench: Bench, peer: str, widgets: int, log: Path) -> Done:
    """Fills the server, runs the peer until all is done and quiet. Raises TimeoutError with the end of its log."""
    bench.tool("setup")
    bench.tool("clear")
    bench.tool("populate", "-n", str(widgets))
    before = bench.writes()
    began = time.monotonic()
    with bench.running(peer, widgets, log):
        while (ready := _ready(objects := _left(bench))) < widgets:
            if time.monotonic() - began > WORK_SECONDS:
                raise TimeoutError(f"{peer}: {ready} of {widgets} widgets are ready\n{log.read_text()[-3000:]}")
            time.sleep(0.1)
        seconds = time.monotonic() - began
        time.sleep(QUIET_SECONDS)
        while objects != (later := _left(bench)):
            objects = later
            time.sleep(QUIET_SECONDS)
        return Done(ready, bench.writes() - before, seconds, objects)


def _ready(objects: list[dict[str, Any]]) -> int:
    return sum(each.get("status", {}).get("phase") == "Ready" for each in objects)


def _left(bench: Bench) -> list[dict[str, Any]]:
    """Widgets and their children, by namespace and name."""
    listed = [*bench.objects("/apis/bench.example.com/v1/widgets"), *bench.objects("/api/v1/configmaps")]
    return [each for each in listed if each["metadata"]["name"].startswith("w-")]
