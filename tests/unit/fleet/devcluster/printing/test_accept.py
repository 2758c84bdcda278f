from __future__ import annotations

import pytest

from fleet.devcluster.printing.accept import PLAIN, Representation, representation_of
from fleet.devcluster.wire.statuses import StatusError

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
AS_TABLE = Representation("application/json", "Table", "meta.k8s.io/v1")


def chosen(accept: str, *, watch: bool = False, built_in: bool = True) -> Representation:
    return representation_of(accept, watch=watch, listing=True, built_in=built_in)


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("", PLAIN),
        ("*/*", PLAIN),
        ("application/vnd.kubernetes.protobuf,application/json", PLAIN),
        ("application/cbor, application/json", PLAIN),
        (f"{TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", AS_TABLE),
        (f"{TABLE};q=0.2, application/json", PLAIN),
        (f"{TABLE};q=0.9, application/json;q=0.5", AS_TABLE),
        ("application/json;as=Unknown;v=v1;g=meta.k8s.io, application/json", PLAIN),
        ("application/yaml", Representation("application/yaml")),
    ],
)
def test_the_most_wanted_form_that_can_be_written_is_chosen(accept: str, wanted: Representation) -> None:
    assert chosen(accept) == wanted


@pytest.mark.parametrize(
    ("accept", "watch", "built_in", "words"),
    [
        ("text/html", False, True, "406: Not Acceptable\n\nAvailable representations: application/json, "),
        ("text/html", False, False, "only the following media types are accepted: application/json, "),
        ("application/json;as=Table", False, True, "only the following media types are accepted: "),
        ("application/yaml", True, True, "only the following media types are accepted: application/json;stream=watch"),
    ],
)
def test_a_client_that_takes_nothing_of_it_is_refused(accept: str, watch: bool, built_in: bool, words: str) -> None:
    with pytest.raises(StatusError) as refused:
        chosen(accept, watch=watch, built_in=built_in)
    assert refused.value.code == 406
    assert refused.value.message.startswith(words)
