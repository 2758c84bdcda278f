"""Runs kubectl against any API server and writes down what it says so that two servers can be compared."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.clients.kubectls import Kubectl
from tests.contract.normaliser import Document, Normaliser

COMMAND_SECONDS = 40.0
_AGE = re.compile(r"(?<![\w.-])(\d+[smhdy])+(?![\w.-])|<invalid>|<unknown>")
_SPACES = re.compile(r" +")
_ADDRESS = re.compile(r"https?://127\.0\.0\.1:\d+")
_LOG_HEADER = re.compile(r"^[EIW]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", re.MULTILINE)
_TEMPORARY = re.compile(r"/tmp/[\w./-]+")
_LONG_TIME = re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}")
_VERSION = re.compile(r"""(Resource Version: +|resourceVersion: ['"])\d+""")
_FILE_TIME = re.compile(r"\t\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}")
_REFLECTOR = re.compile(r"(?m)^.*reflector\.go:\d+\].*\n?")
"""What client-go logs about a watch that ended soon: chance, on either server."""
_VARIABLE = (
    (_ADDRESS, "<address>"),
    (_LOG_HEADER, ""),
    (_LONG_TIME, "<time>"),
    (_TEMPORARY, "<file>"),
    (_FILE_TIME, ""),
    (_VERSION, r"\1<version>"),
)


@dataclass(slots=True)
class Shell:
    """One script of commands on one server, in a namespace of its own. home: for kubectl's caches."""

    kubectl: Kubectl
    kubeconfig: Path
    home: Path
    run: str
    transcript: list[Document] = field(default_factory=list)
    normalise: Normaliser = field(init=False)

    def __post_init__(self) -> None:
        self.normalise = Normaliser({self.namespace: "<namespace>", self.run: "<run>"})

    @property
    def namespace(self) -> str:
        return f"kubectl-{self.run}"

    def unique(self, name: str) -> str:
        """The name of a cluster-scoped object that belongs to this run."""
        return f"{name}-{self.run}"

    def __call__(
        self, *arguments: str, stdin: Any = None, editor: str = "", without: str = "", quiet: bool = False
    ) -> str:
        """Runs a command and returns its standard output. stdin: text, or a document that is sent as JSON.

        editor: a command that changes the file that it is given. without: a pattern of lines of the output that are
        not written down. quiet: nothing is written down.
        """
        text = None if stdin is None else stdin if isinstance(stdin, str) else json.dumps(stdin)
        done = subprocess.run(
            self._command(arguments),
            input=text,
            env=self._environment(editor),
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
        )
        if not quiet:
            step: Document = {"request": self.normalise.text(" ".join(arguments)), "exit status": done.returncode}
            out = re.sub(rf"(?m)^(?=.*({without})).*\n", "", done.stdout) if without else done.stdout
            self.transcript.append(step | {"out": self._shown(out), "errors": self._shown(done.stderr)})
        return done.stdout

    @contextmanager
    def watching(self, *arguments: str, lines: int) -> Iterator[None]:
        """Runs a command that does not end by itself; at the end of the block so many of its lines are written down.

        The block begins when the first line is there.
        """
        process = subprocess.Popen(
            self._command(arguments),
            env=self._environment(""),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        alarm = threading.Timer(COMMAND_SECONDS, process.kill)
        alarm.start()
        try:
            shown = [process.stdout.readline()]
            yield
            while len(shown) < lines and (line := process.stdout.readline()):
                shown.append(line)
        finally:
            alarm.cancel()
            process.kill()
            process.communicate()
        self.transcript.append({"watch": self.normalise.text(" ".join(arguments)), "out": self._shown("".join(shown))})

    @property
    def steps(self) -> int:
        """How many commands have been written down."""
        return len(self.transcript)

    def _command(self, arguments: tuple[str, ...]) -> list[str]:
        return [
            str(self.kubectl.binary),
            f"--kubeconfig={self.kubeconfig}",
            f"--namespace={self.namespace}",
            f"--cache-dir={self.home / 'cache'}",
            *arguments,
        ]

    def _environment(self, editor: str) -> dict[str, str]:
        edited = {"KUBE_EDITOR": editor} if editor else {}
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "TZ": "UTC", **edited}

    def _shown(self, text: str) -> Any:
        """Decoded where it is JSON or YAML of an object, else text without ages and without the width of columns."""
        for decode in (json.loads, yaml.safe_load):
            try:
                decoded = decode(text)
            except (ValueError, yaml.YAMLError):
                continue
            if isinstance(decoded, dict) and "kind" in decoded:
                return self.normalise(decoded)
        text = _REFLECTOR.sub("", text)
        for pattern, word in _VARIABLE:
            text = pattern.sub(word, text)
        plain = _SPACES.sub(" ", _AGE.sub("<age>", self.normalise.text(text)))
        return [line.rstrip() for line in plain.splitlines()]
