"""The targets `dev` and `real`: a fleet of our own on a server of our own, started and settled for one experiment."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from types import TracebackType

import yaml

from chaos.documents.settings import TargetSettings
from chaos.targets.account import Account
from chaos.targets.api import BlockingApi
from chaos.targets.background import Background
from chaos.targets.evidence import Recording
from chaos.targets.local_pods import LocalPods
from chaos.targets.ownership import owned_share
from chaos.targets.people import DemoPeople
from chaos.targets.planes import Say
from chaos.targets.pod import RUN
from chaos.targets.servers import RecordedServer
from chaos.targets.target import TargetFailed
from fleet.configuration.controllers import load_controller
from fleet.dev.demo import find_demo
from fleet.devcluster.invariants.bounds import Bounds
from fleet.records.object_names import LEASES, Names
from shards.clock import boot_seconds
from shards.errors import AlreadyExists, ApiError, NotFound, ShardError, Unreachable
from shards.objects import Resource

FLEET_NAME = "chaos"
SITES = Path(__file__).parents[1] / "operator" / "sites.py"
POD_NAMES = tuple("abcdefghijklmnop")
"""One letter each, so that none is the beginning of another."""

_CRDS = Resource.parse("apiextensions.k8s.io/v1/customresourcedefinitions")
_NAMESPACES = Resource.parse("v1/namespaces")
_LOOK_SECONDS = 0.05
_LONGEST_WAKE_SECONDS = 60.0

ServerContext = Callable[[Path], AbstractContextManager[RecordedServer]]


class Bed:
    """A context manager: started and settled inside, ended afterwards whatever happened. See `chaos.targets.target`.

    number: makes the namespace another one than those of other experiments on the server.
    """

    def __init__(
        self,
        name: str,
        settings: TargetSettings,
        server: ServerContext,
        *,
        number: int = 0,
        say: Say = lambda text: None,
        keep: Path | None = None,
        command: Sequence[str] = RUN,
    ) -> None:
        """keep: a directory for journals and logs, which stay; None: they go with the target. command: that runs a
        pod. Raises ConfigError for a controller that cannot be loaded, or has no demo objects."""
        path = "extensions.target.controller"
        reference = settings.controller or f"{SITES}:sites"
        self._loaded = load_controller(reference, base=Path.cwd(), path=path)
        self._demo = find_demo(self._loaded.module, self._loaded.controller.primary)
        self._demo.objects(settings.objects)
        self._controller = reference if Path(reference).is_absolute() else str(Path.cwd() / reference)
        self.name = name
        self.settings = settings
        self.ranges = settings.shards
        self.lease_seconds = settings.lease_seconds
        self.names = Names(FLEET_NAME, f"{FLEET_NAME}-{number}")
        self.account: Account | None = None
        self._server_context = server
        self._command = command
        self._say = say
        self._keep = keep
        self._stack = ExitStack()

    def __enter__(self) -> Bed:
        """Returns once every range is owned and every object settled. Raises TargetFailed."""
        with ExitStack() as stack:
            self._open(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def now(self) -> float:
        return boot_seconds()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    # -- beginning ---------------------------------------------------------------------------------------------------

    def _open(self, stack: ExitStack) -> None:
        # Unix sockets need a short path.
        rooms = Path(tempfile.mkdtemp(prefix="chaos-"))
        stack.callback(shutil.rmtree, rooms, ignore_errors=True)
        self.directory = self._keep or rooms / "kept"
        self.directory.mkdir(parents=True, exist_ok=True)
        background = Background()
        stack.callback(background.close)
        self.server = stack.enter_context(self._server_context(self.directory))
        self.api = BlockingApi(self.server.kubeconfig, background)
        stack.callback(self.api.close)
        if self.settings.token_file:
            self.account = Account(self.api, self.names.namespace, self.server.kubeconfig, self.directory)
        self.evidence = Recording(self.server.control, self.server.journal, self.directory, self._bounds())
        self.pods = LocalPods(
            self._write_config(),
            self.server.kubeconfig if self.account is None else self.account.kubeconfig,
            self.names.namespace,
            self.directory,
            rooms,
            self.now,
            self._in_office,
            command=self._command,
        )
        primary = self._loaded.controller.primary
        self.people = DemoPeople(self.api, background, primary, self._demo, self.names.namespace)
        self._install()
        stack.callback(self._clear)
        if self.account is not None:
            self.account.install()
        stack.callback(self.pods.close)
        for pod in POD_NAMES[: self.settings.pods]:
            self.pods.start(pod)
        self.people.add(self.settings.objects)
        self._wait_until_settled()
        self.settled_at = self.now()
        stack.callback(self.people.keep_changing, 0.0)
        self.people.keep_changing(self.settings.changes_per_second)
        stack.callback(self._heal)

    def _bounds(self) -> Bounds:
        return Bounds(wake_seconds=_LONGEST_WAKE_SECONDS)

    def _write_config(self) -> Path:
        wanted = self.settings
        config = {
            "fleet": self.names.fleet,
            "controller": self._controller,
            "shards": {"count": wanted.shards},
            "workers": {"perPod": wanted.workers},
            "coordination": {"leaseSeconds": wanted.lease_seconds},
            "rebalance": {"churnPerRound": 1.0, "cooldownSeconds": 1.0},
            "scope": {"namespaces": [self.names.namespace]},
            "agent": {"metricsPort": 0, "address": "127.0.0.1"},
        }
        for section, changes in wanted.config.items():
            found = config.get(section)
            config[section] = found | changes if isinstance(found, dict) else changes
        file = self.directory / "fleet.yaml"
        file.write_text(yaml.safe_dump(config))
        return file

    def _install(self) -> None:
        for crd in self._demo.crds:
            try:
                self.api.create(_CRDS, "", crd)
            except AlreadyExists:
                continue
        try:
            self.api.create(_NAMESPACES, "", {"metadata": {"name": self.names.namespace}})
        except AlreadyExists:
            raise TargetFailed(f"the namespace {self.names.namespace} is there already: use a fresh server") from None
        give_up_at = self.now() + self.settings.start_seconds
        while True:
            try:
                self.api.list(self._loaded.controller.primary, self.names.namespace)
                return
            except ApiError:
                if self.now() > give_up_at:
                    raise
                self.sleep(_LOOK_SECONDS)

    def _clear(self) -> None:
        """What stays of the fleet on a server that goes on. In the background of the server, where that has one."""
        if self.account is not None:
            with contextlib.suppress(ShardError):
                self.account.withdraw()
        with contextlib.suppress(ShardError):
            self.api.delete(_NAMESPACES, "", self.names.namespace)

    def _heal(self) -> None:
        """So that what ends can say so. A server that answers no more ends all the same."""
        with contextlib.suppress(ShardError):
            self.server.heal()

    def _in_office(self) -> str:
        try:
            lease = self.api.get(LEASES, self.names.namespace, self.names.coordinator)
        except (NotFound, Unreachable):
            return ""
        return str(lease["spec"].get("holderIdentity") or "")

    def _wait_until_settled(self) -> None:
        began = self.now()
        while self.now() < began + self.settings.start_seconds:
            if trouble := self.pods.trouble():
                raise TargetFailed(trouble)
            if owned_share(self.evidence.verdict(), ()) == 1.0 and not self.people.unsettled():
                self._say(f"a fleet of {self.settings.pods} pods settled after {self.now() - began:.1f} s")
                return
            self.sleep(_LOOK_SECONDS)
        owned = owned_share(self.evidence.verdict(), ())
        state = f"{owned:.0%} of the keys have an owner, {self.people.unsettled()} objects are not settled"
        raise TargetFailed(f"the fleet is not settled after {self.settings.start_seconds:g} seconds: {state}")
