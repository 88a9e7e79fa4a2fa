"""Old names of `dovetail.hub`, which does not download."""

from ..hub import load_state_dict_from_url as load_url
from ..names.missing import serve_names as _serve_names

__all__ = ["load_url"]


_serve_names(__name__, elsewhere={"tqdm": "tqdm.auto"})  # the progress bar
