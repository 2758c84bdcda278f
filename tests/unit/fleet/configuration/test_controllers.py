from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet.configuration.controllers import load_controller, load_controllers
from shards.errors import ConfigError

GOOD = """
from shards import Controller

app = Controller("app", primary="v1/configmaps")

@app.reconcile
async def reconcile(ctx, request):
    pass

def helper():
    pass
"""


@pytest.fixture(autouse=True)
def clean_imports() -> Iterator[None]:
    modules, path = set(sys.modules), list(sys.path)
    yield
    for name in set(sys.modules) - modules:
        del sys.modules[name]
    sys.path[:] = path


def write(directory: Path, name: str, text: str = GOOD) -> None:
    file = directory / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def refusal(reference: str, base: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        load_controller(reference, base=base, path="controller")
    return str(caught.value)


def test_a_file_is_loaded_under_its_own_name(tmp_path: Path) -> None:
    write(tmp_path, "sub/mine_a.py")
    loaded = load_controller("sub/mine_a.py:app", base=tmp_path)
    assert (loaded.controller.name, loaded.module.__name__) == ("app", "mine_a")


def test_a_file_can_import_its_neighbours(tmp_path: Path) -> None:
    write(tmp_path, "neighbour_b.py", "NAME = 'app'")
    write(tmp_path, "mine_b.py", "import neighbour_b\n" + GOOD)
    assert load_controller("mine_b.py:app", base=tmp_path).controller.name == "app"


def test_a_module_is_found_in_the_working_directory(tmp_path: Path) -> None:
    write(tmp_path, "package_c/__init__.py", "")
    write(tmp_path, "package_c/mine.py")
    assert load_controller("package_c.mine:app", base=tmp_path).controller.name == "app"


def test_loading_a_file_twice_gives_one_module(tmp_path: Path) -> None:
    write(tmp_path, "mine_d.py")
    first = load_controller("mine_d.py:app", base=tmp_path)
    assert load_controller("mine_d.py:app", base=tmp_path).controller is first.controller


@pytest.mark.parametrize("reference", ["websites", "websites.py", ":app", "websites.py:", "websites.py:a b"])
def test_a_reference_has_two_parts(reference: str, tmp_path: Path) -> None:
    assert refusal(reference, tmp_path) == (
        f"controller: {reference!r} names no controller; write module:object or path/file.py:object"
    )


def test_a_missing_file_is_named_with_the_nearest_one(tmp_path: Path) -> None:
    write(tmp_path, "websites.py")
    assert refusal("website.py:app", tmp_path) == (
        f"controller: there is no file {tmp_path}/website.py; did you mean websites.py?"
    )


def test_a_missing_module_is_named_with_the_place_where_it_would_be(tmp_path: Path) -> None:
    assert refusal("no_such_module_e:app", tmp_path) == (
        f"controller: there is no module 'no_such_module_e': neither installed nor at {tmp_path}/no_such_module_e.py;"
        " or name a file: path/file.py:object"
    )


def test_a_missing_object_is_named_with_the_nearest_controller(tmp_path: Path) -> None:
    write(tmp_path, "mine_f.py")
    assert refusal("mine_f.py:apps", tmp_path) == "controller: mine_f.py has no 'apps'; did you mean app?"


def test_something_else_than_a_controller_is_named_by_its_type(tmp_path: Path) -> None:
    write(tmp_path, "mine_g.py")
    assert refusal("mine_g.py:helper", tmp_path) == (
        "controller: 'helper' in mine_g.py is of type function, not Controller; its controllers are app"
    )


def test_a_module_without_any_controller_says_so(tmp_path: Path) -> None:
    write(tmp_path, "mine_h.py", "x = 1")
    assert refusal("mine_h.py:app", tmp_path) == "controller: mine_h.py has no 'app'; it defines no Controller"


def test_a_controller_without_a_reconcile_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "mine_i.py", GOOD.split("@app")[0])
    assert "decorate a function with @controller.reconcile" in refusal("mine_i.py:app", tmp_path)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("\n\n1 / 0", "importing {file} failed: ZeroDivisionError: division by zero ({file}, line 3)"),
        (
            "import nothing_like_it_j",
            "importing {file} failed: ModuleNotFoundError: No module named 'nothing_like_it_j'",
        ),
        ("def (", "{file}, line 1: invalid syntax"),
        ("raise SystemExit(3)", "importing {file} failed: SystemExit: 3 ({file}, line 1)"),
    ],
)
def test_an_error_in_the_authors_module_is_told_with_its_line(text: str, what: str, tmp_path: Path) -> None:
    write(tmp_path, "mine_j.py", text)
    assert refusal("mine_j.py:app", tmp_path).startswith("controller: " + what.format(file=tmp_path / "mine_j.py"))


def test_an_error_deep_in_a_module_is_told_with_the_authors_line(tmp_path: Path) -> None:
    write(tmp_path, "mine_k.py", "import helper_k")
    write(tmp_path, "helper_k.py", "\nraise ValueError('boom')")
    assert refusal("mine_k:app", tmp_path) == (
        f"controller: importing mine_k failed: ValueError: boom ({tmp_path}/helper_k.py, line 2)"
    )


def test_a_file_must_not_hide_another_module(tmp_path: Path) -> None:
    write(tmp_path, "json.py")
    assert refusal("json.py:app", tmp_path) == (
        f"controller: a module called 'json' exists already; give {tmp_path}/json.py another name"
    )


def test_controllers_of_one_name_are_refused_by_their_place(tmp_path: Path) -> None:
    write(tmp_path, "mine_l.py")
    write(tmp_path, "mine_m.py")
    with pytest.raises(ConfigError) as caught:
        load_controllers(["mine_l.py:app", "mine_m.py:app"], base=tmp_path, path="controllers")
    assert str(caught.value) == "controllers[1]: another controller is called 'app' too; rename one of them"


def test_the_example_is_a_controller_of_about_thirty_lines() -> None:
    examples = Path(__file__).parents[4] / "docs/examples"
    loaded = load_controller("websites.py:websites", base=examples)
    assert str(loaded.controller.primary) == "demo.shardfleet.dev/v1/websites"
    assert len((examples / "websites.py").read_text().splitlines()) <= 40
