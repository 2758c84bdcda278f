"""On which servers the tests of rolling pods run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real)])
def server_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def binary(request: pytest.FixtureRequest) -> Callable[[], Path]:
    """Built by nobody but those tests that need it."""
    return lambda: Path(request.getfixturevalue("cluster_binary"))
