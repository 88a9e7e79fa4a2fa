"""Fingerprints of arrays, for saved traces with hashes."""

from ..inspection.runs.values import Fingerprint

__all__ = ["Fingerprint"]
