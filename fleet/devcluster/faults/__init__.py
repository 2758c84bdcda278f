"""Faults that a test, a simulation or an experiment injects: one vocabulary, for embedded and for real servers."""

from fleet.devcluster.faults.injection import Injection
from fleet.devcluster.faults.injector import ConnectionRefused, Faults, Forward
from fleet.devcluster.faults.match import Events, Match

__all__ = ["ConnectionRefused", "Events", "Faults", "Forward", "Injection", "Match"]
