"""Models in a folder with a ``hubconf.py``, as in ``torch.hub`` with ``source="local"``.

Nothing is downloaded, because a model repository runs code. Download it yourself, check it, and
pass the folder.
"""

from __future__ import annotations

import builtins
import re
import sys
import typing as _typing
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from .names.missing import serve_names as _serve_names

__all__ = [
    "HASH_REGEX",
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

HASH_REGEX: _typing.Final = re.compile(r"-([a-f0-9]*)\.")
"""Finds the first digits of a file's checksum at the end of its name, as in ``net-3f2a9b.pth``."""

_FILE = "hubconf.py"
_folder: Path | None = None


def get_dir() -> str:
    """Return the folder for models: ``$TORCH_HOME/hub``, or one in the user's cache."""
    return str(_folder) if _folder is not None else f"{_get_torch_home()}/hub"


def _get_torch_home() -> str:
    """Return the folder of what programs keep, with the user's own in full."""
    import os

    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", f"{cache}/torch"))


def set_dir(d: str) -> None:
    """Set the folder that `get_dir` returns."""
    global _folder
    _folder = Path(d).expanduser()


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: object = None,
    verbose: bool = True,
    *,
    source: str = "local",
) -> builtins.list[str]:
    """Return the names of the models in a folder.

    Parameters
    ----------
    github
        The folder, which has a ``hubconf.py``.
    force_reload, skip_validation, trust_repo, verbose
        Download options, accepted and ignored.
    source
        ``"local"``.

    Raises
    ------
    RuntimeError
        For any other `source`: nothing is downloaded.
    FileNotFoundError
        If there is no ``hubconf.py``.
    """
    with _configuration(github, source) as module:
        return [
            name
            for name, value in vars(module).items()
            if callable(value) and not name.startswith("_")
        ]


def help(
    github: str,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: object = None,
    *,
    source: str = "local",
) -> str | None:
    """Return the documentation of a model in a folder; see `list`."""
    with _configuration(github, source) as module:
        text: str | None = _entry(module, model).__doc__
        return text


def load(
    repo_or_dir: str,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: object = None,
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """Return a model from a folder.

    Parameters
    ----------
    repo_or_dir
        The folder, which has a ``hubconf.py``.
    model
        The name of a function in it.
    *args, **kwargs
        Its arguments.
    source
        ``"local"``.
    trust_repo, force_reload, verbose, skip_validation
        Download options, accepted and ignored.

    Raises
    ------
    RuntimeError
        For any other `source`, for an unknown model, and for missing dependencies.
    FileNotFoundError
        If there is no ``hubconf.py``.
    """
    with _configuration(repo_or_dir, source) as module:
        return _entry(module, model)(*args, **kwargs)


def load_state_dict_from_url(url: str, *args: Any, **options: Any) -> NoReturn:
    """Raise RuntimeError: nothing is downloaded."""
    _refuse(f"load_state_dict_from_url({url!r})")


def download_url_to_file(url: str, dst: str, *args: Any, **options: Any) -> NoReturn:
    """Raise RuntimeError: nothing is downloaded."""
    _refuse(f"download_url_to_file({url!r})")


@contextmanager
def _configuration(folder: str, source: str) -> Iterator[ModuleType]:
    """Give the module of a folder's ``hubconf.py``, which finds modules beside it."""
    if source.lower() != "local":
        _refuse(f"source={source!r} of {folder!r}")
    place = Path(folder).expanduser().resolve()
    spec = spec_from_file_location("hubconf", place / _FILE)
    if spec is None or spec.loader is None or not (place / _FILE).is_file():
        raise FileNotFoundError(
            f"{place / _FILE}: no such file. Give a folder whose {_FILE} has a function for each "
            "model."
        )
    module = module_from_spec(spec)
    sys.path.insert(0, str(place))
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(place))


def _entry(module: ModuleType, model: str) -> Any:
    missing = [name for name in getattr(module, "dependencies", ()) if not _is_there(name)]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}. Install them.")
    found = vars(module).get(model)
    if not callable(found):
        offered = [n for n, value in vars(module).items() if callable(value) and n[0] != "_"]
        raise RuntimeError(
            f"Cannot find callable {model} in hubconf. It has: {', '.join(offered) or 'none'}."
        )
    return found


def _is_there(name: str) -> bool:
    if name == "torch":  # this library stands in for it
        return True
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _refuse(what: str) -> NoReturn:
    raise RuntimeError(
        f"{what}: nothing is downloaded. Fetch it yourself, and use "
        "dovetail.hub.load(folder, model, source='local'), or dovetail.load(file)."
    )


_serve_names(__name__, elsewhere={"urlparse": "urllib.parse"})
