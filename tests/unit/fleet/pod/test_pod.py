from __future__ import annotations

import pytest

from fleet.pod.pod import exit_code
from fleet.processes.exitcodes import EX_CONFIG, EX_SOFTWARE, EX_WATCHDOG


@pytest.mark.parametrize(("ended", "code"), [(0, 0), (EX_CONFIG, 2), (EX_SOFTWARE, 1), (EX_WATCHDOG, 1), (137, 1)])
def test_the_command_ends_as_its_supervisor_did(ended: int, code: int) -> None:
    assert exit_code(ended) == code
