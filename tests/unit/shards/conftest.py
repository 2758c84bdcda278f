"""Fixtures for tests that need an API server."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.unit.shards.world import World


@pytest_asyncio.fixture
async def world() -> AsyncIterator[World]:
    """An embedded API server in the test's own (virtual) time; its shards are stopped at the end."""
    made = World()
    yield made
    await made.close()
