"""Fingerprints of arrays, as saved traces with hashes contain them."""

from ..inspection.runs.values import Fingerprint

__all__ = ["Fingerprint"]
