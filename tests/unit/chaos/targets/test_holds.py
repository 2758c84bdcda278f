from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chaos.targets.holds import EmbeddedHold, NoHold, PlaneHold
from chaos.targets.target import TargetFailed


class Heard:
    """A control endpoint that writes down what it was told."""

    def __init__(self) -> None:
        self.said: list[Any] = []

    def storage(self, act: str) -> None:
        self.said.append(act)

    def stage(self, fault: dict[str, Any]) -> list[int]:
        self.said.append(fault.get("replica", fault["fault"]))
        return [3]

    def release(self, numbers: list[int]) -> None:
        self.said.append(numbers)


class Plane:
    def __init__(self, said: list[Any]) -> None:
        self.said = said
        self.servers = {"kube-apiserver": SimpleNamespace(pid=7)}

    def compact(self) -> None:
        self.said.append("compact")

    def restart(self, name: str) -> None:
        self.said.append(f"restart {name}")

    def back_up(self, to: Path) -> None:
        self.said.append("back up")

    def restore(self, backup: Path, *, meanwhile: Any) -> None:
        self.said.append("restore")
        meanwhile()


def test_an_embedded_server_is_asked_through_its_control_endpoint() -> None:
    heard = Heard()
    hold = EmbeddedHold(heard, 5)  # type: ignore[arg-type]
    assert (hold.pids(), hold.freeze_replica()) == ((5,), "dev-2")
    hold.compact()
    hold.back_up()
    hold.restore()
    assert heard.said == ["dev-2", "compact", "cut", [3], "back-up", "restore"]


def test_a_control_plane_begins_anew_and_the_recorder_hears_of_its_going_back(tmp_path: Path) -> None:
    heard = Heard()
    hold = PlaneHold(Plane(heard.said), tmp_path, heard)  # type: ignore[arg-type]
    assert hold.pids() == (7,)
    hold.compact()
    hold.back_up()
    hold.restore()
    assert heard.said == ["compact", "restart kube-apiserver", "back up", "restore", "restored"]


def test_without_a_backup_there_is_nothing_to_go_back_to(tmp_path: Path) -> None:
    with pytest.raises(TargetFailed, match="no backup"):
        PlaneHold(Plane([]), tmp_path, Heard()).restore()  # type: ignore[arg-type]


def test_without_a_second_api_server_none_can_stand_still(tmp_path: Path) -> None:
    with pytest.raises(TargetFailed, match="write frontEnds: 2 and ownServer: true"):
        PlaneHold(Plane([]), tmp_path, Heard()).freeze_replica()  # type: ignore[arg-type]


@pytest.mark.parametrize("what", ["pids", "freeze_replica", "compact", "back_up", "restore"])
def test_somebody_elses_server_is_left_alone(what: str) -> None:
    with pytest.raises(TargetFailed, match="ours to"):
        getattr(NoHold(), what)()
