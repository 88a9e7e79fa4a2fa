"""Versions, as ``torch.version``: of Dovetail, and of what it is built for."""

from importlib.metadata import version as _version

__version__ = _version("dovetail")
cuda: str | None = None
hip: str | None = None
xpu: str | None = None
git_version: str | None = None
debug = False
