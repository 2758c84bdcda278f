"""Which versions were compared, from where they are pinned."""

from __future__ import annotations

import platform
import re
import tomllib
from pathlib import Path

from fleet import __version__
from tests.clients.peers import SOURCE

CLUSTER_MODULES = Path(__file__).resolve().parents[2] / "tests" / "cluster" / "go.mod"


def versions() -> dict[str, str]:
    """Name and version, ours first."""
    modules, cluster = (SOURCE / "go" / "go.mod").read_text(), CLUSTER_MODULES.read_text()
    crates = tomllib.loads((SOURCE / "rust" / "Cargo.lock").read_text())["package"]
    return {
        "shardfleet": __version__,
        "CPython": platform.python_version(),
        "controller-runtime": module(modules, "sigs.k8s.io/controller-runtime"),
        "client-go": module(modules, "k8s.io/client-go"),
        "kube-rs": next(each["version"] for each in crates if each["name"] == "kube"),
        "Kubernetes": module(cluster, "k8s.io/kubernetes"),
    }


def module(go_mod: str, path: str) -> str:
    """Raises ValueError where the module is not required."""
    found = re.search(rf"^\s*(?:require )?{re.escape(path)} v(\S+)", go_mod, re.MULTILINE)
    if found is None:
        raise ValueError(f"no version of {path}")
    return found.group(1)
