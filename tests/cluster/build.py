"""Builds kube-apiserver, kube-controller-manager and etcd into one binary, once per set of inputs.

From nothing a build takes about ten minutes of two cores, because Kubernetes is compiled.

    python -m tests.cluster.build        builds when needed; the last line on standard output is the path of the binary
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.cluster.gobuild import BuildFailed, GoProgram, Say

CLUSTER = GoProgram(
    name="kube-cluster",
    shelf="cluster",
    source=Path(__file__).resolve().parent,
    inputs=("main.go", "go.mod", "go.sum"),
    notice="building kube-apiserver, kube-controller-manager and etcd; about ten minutes when nothing is cached",
)


def ensure(say: Say) -> Path:
    """The path of the test cluster's binary, built first where it is not there. Raises BuildFailed."""
    return CLUSTER.ensure(say)


def main() -> int:
    try:
        binary = ensure(lambda line: print(line, file=sys.stderr, flush=True))
    except BuildFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    print(binary)
    return 0


if __name__ == "__main__":
    sys.exit(main())
