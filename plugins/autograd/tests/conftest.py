"""Loads a small base library and makes calls record."""

from __future__ import annotations

import sys
from pathlib import Path

import dovetail_autograd

sys.path.insert(0, str(Path(__file__).parent))
import small_library

LIBRARY = small_library.load()
dovetail_autograd.install()
