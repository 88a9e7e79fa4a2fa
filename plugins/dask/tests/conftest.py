"""Skips the tests of this distribution where Dask is not installed."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("dask") and find_spec("dovetail_dask") else ["test_*.py"]
