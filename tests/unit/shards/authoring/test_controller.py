"""What an author declares, and what is refused while it is declared."""

from __future__ import annotations

import subprocess
import sys

import pytest

import shards
from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller, Result, identity_of, scope_of
from shards.authoring.plain_context import PlainContext
from shards.errors import ConfigError
from shards.objects import Meta, ObjectName
from shards.settings import ScopeSettings


def nobody(meta: Meta) -> list[ObjectName]:
    return []


def declared(name: str = "sites", primary: str = "demo/v1/sites") -> Controller:
    controller = Controller(name, primary=primary)

    @controller.reconcile
    async def reconcile(ctx: Context, request: Request) -> None: ...

    return controller


class TestDeclaration:
    @pytest.mark.parametrize("name", ["", "Sites", "my sites", "-a", "a" * 64])
    def test_a_name_that_is_no_label_is_refused(self, name: str) -> None:
        with pytest.raises(ConfigError, match="name:"):
            Controller(name, primary="v1/pods")

    def test_a_primary_that_is_no_resource_is_refused_with_its_place(self) -> None:
        with pytest.raises(ConfigError, match=r"sites\.primary: 'Pods' is no resource"):
            Controller("sites", primary="Pods")

    def test_secondaries_are_kept_in_order(self) -> None:
        controller = declared().owns("v1/configmaps").owns("apps/v1/deployments").watches("v1/secrets", map=nobody)
        assert [str(each) for each in controller.owned] == ["v1/configmaps", "apps/v1/deployments"]
        assert [str(each.resource) for each in controller.watched] == ["v1/secrets"]

    def test_a_resource_is_named_once(self) -> None:
        controller = declared().owns("v1/configmaps").watches("v1/secrets", map=nobody)
        for resource in ("v1/configmaps", "v1/secrets"):
            with pytest.raises(ConfigError, match="already; name each resource once"):
                controller.owns(resource)
            with pytest.raises(ConfigError, match="already; name each resource once"):
                controller.watches(resource, map=nobody)

    def test_the_primary_is_neither_owned_nor_watched(self) -> None:
        with pytest.raises(ConfigError, match=r"sites\.owns: demo/v1/sites is the primary"):
            declared().owns("demo/v1/sites")
        with pytest.raises(ConfigError, match=r"sites\.watches: demo/v1/sites is the primary"):
            declared().watches("demo/v1/sites", map=nobody)

    def test_a_map_must_be_a_function(self) -> None:
        with pytest.raises(ConfigError, match="map must be a function"):
            declared().watches("v1/secrets", map="secrets")  # type: ignore[arg-type]


class TestFunction:
    def test_a_controller_without_one_is_incomplete(self) -> None:
        controller = Controller("sites", primary="v1/pods")
        with pytest.raises(ConfigError, match=r"sites\.reconcile: missing"):
            controller.check()

    def test_a_second_one_is_refused(self) -> None:
        controller = declared()
        with pytest.raises(ConfigError, match="one reconcile function"):
            controller.reconcile(lambda ctx, request: None)

    @pytest.mark.parametrize("function", [lambda: None, lambda a, b, c: None, lambda request, ctx: None])
    def test_other_parameters_are_refused(self, function: object) -> None:
        with pytest.raises(ConfigError, match=r"must take \(ctx, request\)"):
            Controller("sites", primary="v1/pods").reconcile(function)  # type: ignore[type-var]

    def test_the_decorated_function_stays_what_it_was(self) -> None:
        controller = Controller("sites", primary="v1/pods")

        def reconcile(ctx: PlainContext) -> Result:
            return Result(5)

        assert controller.reconcile(reconcile) is reconcile
        assert controller.plain

    def test_async_functions_are_not_plain(self) -> None:
        assert not declared().plain


class TestIdentity:
    def test_it_does_not_depend_on_order_or_functions(self) -> None:
        one = declared().owns("v1/configmaps").owns("v1/services")
        same = declared().owns("v1/services").owns("v1/configmaps")
        other = declared("others")
        assert identity_of([one, other]) == identity_of([other, same])

    @pytest.mark.parametrize("changed", [declared("other"), declared(primary="demo/v2/sites")])
    def test_names_and_primaries_are_part_of_it(self, changed: Controller) -> None:
        assert identity_of([changed]) != identity_of([declared()])

    def test_what_is_looked_at_besides_may_change_from_one_revision_to_the_next(self) -> None:
        assert identity_of([declared().owns("v1/configmaps")]) == identity_of([declared()])

    def test_two_controllers_of_one_name_are_refused(self) -> None:
        with pytest.raises(ConfigError, match="each another name"):
            identity_of([declared(), declared(primary="v1/pods")])

    def test_none_at_all_is_refused(self) -> None:
        with pytest.raises(ConfigError, match="at least one"):
            identity_of([])


class TestScope:
    @pytest.mark.parametrize(
        "changed", [declared().owns("v1/configmaps"), declared().watches("v1/configmaps", map=nobody)]
    )
    def test_every_resource_and_role_is_part_of_it(self, changed: Controller) -> None:
        assert scope_of([changed], ScopeSettings()) != scope_of([declared()], ScopeSettings())

    def test_owned_and_watched_are_told_apart(self) -> None:
        watched = declared().watches("v1/configmaps", map=nobody)
        assert scope_of([watched], ScopeSettings()) != scope_of([declared().owns("v1/configmaps")], ScopeSettings())

    def test_selectors_are_part_of_it(self) -> None:
        assert scope_of([declared()], ScopeSettings()) != scope_of([declared()], ScopeSettings(label_selector="a=b"))


class TestPackage:
    def test_the_authors_names_are_there(self) -> None:
        assert shards.Controller is Controller
        assert shards.Context is Context
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            shards.nothing  # noqa: B018

    def test_importing_the_vocabulary_loads_no_machinery(self) -> None:
        code = "import sys, shards.objects; print([m for m in ('asyncio', 'prometheus_client') if m in sys.modules])"
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert out.stdout.strip() == "[]"


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1, "5"])
def test_a_result_asks_for_a_finite_number_of_seconds(seconds: float) -> None:
    """A NaN among the delayed keys would put all of them out of order."""
    with pytest.raises(ValueError, match="finite number of seconds"):
        Result(requeue_after_seconds=seconds)
