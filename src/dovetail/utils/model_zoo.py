"""Old names of `dovetail.hub`, which does not download."""

import typing as _typing

from ..hub import load_state_dict_from_url as load_url
from ..names.missing import names_of as _names_of

__all__ = ["load_url"]


if not _typing.TYPE_CHECKING:  # a type checker would take any name for one of these
    __getattr__ = _names_of(__name__, elsewhere={"tqdm": "tqdm.auto"})  # the progress bar
