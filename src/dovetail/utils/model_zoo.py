"""The names of old of `dovetail.hub`, which refuses to download."""

from ..hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
