from __future__ import annotations

from typing import Any

import pytest

from chaos.documents.provider import parse_provider
from shards.errors import ConfigError
from tests.unit.chaos.targets.paper import PaperTarget


def python(module: str, func: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "python", "module": module, "func": func, "arguments": arguments}


def test_a_function_is_called_with_its_arguments_and_the_target() -> None:
    target = PaperTarget()

    answer = parse_provider(python("chaos.actions.people", "add_objects", count=7), "p").call(target)

    assert (answer, target.people.added) == ({"added": 7}, 7)


def test_a_function_that_asks_for_no_target_gets_none() -> None:
    assert parse_provider(python("textwrap", "shorten", text="a b", width=9), "p").call(PaperTarget()) == "a b"


@pytest.mark.parametrize(
    ("provider", "sentence"),
    [
        ({"type": "process", "path": "true"}, "^p.type: 'process' is not supported yet; write python"),
        ({"type": "http", "url": "x"}, "^p.type: 'http' is not supported yet; write python"),
        ({"module": "chaos.probes.promises", "func": "double_acts"}, "^p.type: this field is required; write python"),
        (python("chaos.probs", "double_acts"), "^p.module: there is no module chaos.probs"),
        (
            python("chaos.probes.promises", "double_act"),
            "^p.func: chaos.probes.promises has no function double_act; did you mean double_acts",
        ),
        (
            python("chaos.probes.promises", "takeover_seconds"),
            "^p.func: chaos.probes.promises has no function takeover_seconds",
        ),
        (python("chaos.actions.people", "add_objects"), "^p.arguments.count: the function needs this argument"),
        (python("chaos.actions.people", "add_objects", cuont=1), "^p.arguments.cuont: .* did you mean count"),
        (python("chaos.probes.promises", "double_acts", target=1), "^p.arguments.target: .* it takes none"),
        ({**python("chaos.probes.promises", "double_acts"), "secrets": ["a"]}, "^p.secrets: not supported yet"),
    ],
)
def test_a_provider_that_could_not_be_called_is_refused(provider: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        parse_provider(provider, "p")
