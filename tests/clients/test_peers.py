"""Controllers that nobody here wrote do their work on the embedded server and leave what they leave on the real one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shards.keyrange import slot_of
from shards.objects import SLOT_LABEL
from tests.clients.conftest import Table
from tests.clients.peers import PEERS, Bench, Toolbox, build, work
from tests.contract.differences import difference
from tests.contract.normaliser import Normaliser

if TYPE_CHECKING:
    from shards.testing.server import EmbeddedServer

pytestmark = pytest.mark.timeout(1800)

WIDGETS = int(os.environ.get("PEER_WIDGETS", "200"))


@pytest.fixture(scope="module")
def toolbox() -> Toolbox:
    return build(print)


def compared(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without versions, whose order is another one each time, with names in place of UIDs, and without what follows
    from those: the slot of a child is the hash of its owner's UID.
    """
    normalise = Normaliser({})
    for each in objects:
        metadata = each["metadata"]
        normalise.uids[metadata["uid"]] = f"<uid of {metadata['namespace']}/{metadata['name']}>"
        metadata["resourceVersion"] = ""
        owner = next((owner["uid"] for owner in metadata.get("ownerReferences", ())), "")
        if metadata.get("labels", {}).get(SLOT_LABEL) == slot_of(owner):
            metadata["labels"][SLOT_LABEL] = "<slot of the owner>"
    return [normalise(each) for each in objects]


@pytest.mark.parametrize("peer", PEERS)
def test_a_peer_leaves_the_same_on_both_servers(
    peer: str, toolbox: Toolbox, embedded: EmbeddedServer, real_kubeconfig: Path, tmp_path: Path, peer_table: Table
) -> None:
    ours = work(Bench(toolbox, embedded.kubeconfig), peer, WIDGETS, tmp_path / "embedded.log")
    theirs = work(Bench(toolbox, real_kubeconfig), peer, WIDGETS, tmp_path / "real.log")

    equal = difference(compared(ours.left), compared(theirs.left))
    peer_table.append((peer, ours, theirs, not equal))
    assert len(theirs.left) == 2 * WIDGETS
    if equal:
        pytest.fail(equal, pytrace=False)
