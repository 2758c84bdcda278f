"""What all unit tests share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def idle_event_loop() -> Iterator[None]:
    """A current event loop for plugins that ask for one outside of any test's loop.

    looptime does so before every ordinary test. On Python 3.11 it would be given a new loop that nobody closes, and
    the warning about it would hit whichever test is running when it is collected.
    """
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    loop.close()
