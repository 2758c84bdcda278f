"""The intermediate scenarios of the catalogue: a crash between two writes of one reconcile."""

from __future__ import annotations

from tests.integration.sieve.operators import replica_sets
from tests.integration.sieve.parts import PODS, SECRETS, datastore
from tests.integration.sieve.plans import At, Make, Scenario, Until, crash, created

INTERMEDIATE = (
    Scenario(
        19,
        "K8SPSMDB-578",
        "I",
        replica_sets.makes_both_secrets_where_the_first_is_missing,
        (Make(datastore(replicas=1)), Until(PODS, "one-0", "status.phase", "Running")),
        crash(created(SECRETS, "one-ssl", at=At.WRITE)),
        fails_with=True,
    ),
)
