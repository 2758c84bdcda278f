"""Faults that a test, a simulation or an experiment injects: one vocabulary, for embedded and for real servers."""

from fleet.devcluster.faults.injection import Injection
from fleet.devcluster.faults.injector import ConnectionRefused, Faults
from fleet.devcluster.faults.match import Events, Match
from fleet.devcluster.faults.replicas import Forward

__all__ = ["ConnectionRefused", "Events", "Faults", "Forward", "Injection", "Match"]
