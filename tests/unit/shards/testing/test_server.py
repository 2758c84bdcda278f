from __future__ import annotations

import json
import threading
import urllib.request
from pathlib import Path

import pytest

from shards.testing.server import EmbeddedServer


def threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name == "embedded API server"]


def test_it_serves_while_the_context_is_open(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        with urllib.request.urlopen(f"{server.url}/api/v1/namespaces/default", timeout=10) as response:
            assert json.load(response)["metadata"]["name"] == "default"
        assert server.url in server.kubeconfig.read_text()
        assert [each.verb for each in server.journal()] == ["get"]
    assert threads() == []


def test_a_start_that_fails_leaves_no_thread_behind(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), EmbeddedServer(tmp_path / "absent"):
        pass
    assert threads() == []
