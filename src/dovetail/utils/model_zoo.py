"""The names of old of `dovetail.hub`, which refuses to download."""

from importlib import import_module
from typing import Any

from ..hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]


def __getattr__(name: str) -> Any:
    if name == "tqdm":  # the progress bar that programs import from here
        return import_module("tqdm.auto").tqdm
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
