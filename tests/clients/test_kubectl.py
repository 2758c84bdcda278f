"""kubectl says the same about the embedded server as about the real one, word for word."""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.clients import kubectls
from tests.clients.kubectls import Kubectl
from tests.clients.scripts import SCRIPTS, Script
from tests.clients.shell import Shell
from tests.contract.differences import difference

if TYPE_CHECKING:
    from shards.testing.server import EmbeddedServer

pytestmark = pytest.mark.timeout(300)

KUBECTLS = {"current": kubectls.current, "debian": kubectls.debians}


@pytest.fixture(scope="module", params=KUBECTLS)
def kubectl(request: pytest.FixtureRequest) -> Kubectl:
    return KUBECTLS[request.param](print)


def said(kubectl: Kubectl, script: Script, kubeconfig: Path, home: Path) -> Shell:
    shell = Shell(kubectl, kubeconfig, home, secrets.token_hex(4))
    shell("create", "namespace", shell.namespace, quiet=True)
    script(shell)
    shell("delete", "namespace", shell.namespace, "--wait=false", quiet=True)
    return shell


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: str(script.__name__))
def test_kubectl_says_the_same_about_both_servers(
    kubectl: Kubectl, script: Script, embedded: EmbeddedServer, real_kubeconfig: Path, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(2) as both:
        ours = both.submit(said, kubectl, script, embedded.kubeconfig, tmp_path / "embedded")
        theirs = both.submit(said, kubectl, script, real_kubeconfig, tmp_path / "real")
    if told := difference(ours.result().transcript, theirs.result().transcript):
        pytest.fail(told, pytrace=False)
