"""Exception classes, and the parts of messages: spelling suggestions, where the caller is, where
code is from.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Hashable, Iterable
from functools import lru_cache
from math import prod
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from importlib.metadata import Distribution
    from pathlib import Path

INTERNAL_PACKAGES = (
    "dovetail_kernel",
    "dovetail_dispatcher",
    "dovetail",
    "contextlib",
    "functools",
)
"""Packages whose frames are not what a user means by "where"; contextlib stands between a `with`
and what it enters, functools between a call and the one of several functions that it chooses.
"""


_ELSEWHERE = {"gpu": "cuda", "nvidia": "cuda", "host": "cpu"}
"""What people call devices elsewhere, and the word for it here."""


class PluginError(RuntimeError):
    """Raised if a requested plugin cannot be used; ``__cause__`` is the exception of the plugin, if
    it raised one.
    """


class PluginNotFoundError(PluginError):
    """Raised if no installed plugin has the requested name."""


class AcceleratorError(RuntimeError):
    """Raised for an asynchronous device error, by the next call that waits for the device."""


class OutOfMemoryError(RuntimeError, MemoryError):
    """Raised if memory cannot be allocated: a RuntimeError for programs written for PyTorch, a
    MemoryError for those written for NumPy.
    """

    def __str__(self) -> str:
        """Return the message; an array library's class of errors composes another one."""
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        """Return what is pickled: the message without the class of an array library."""
        return OutOfMemoryError, self.args


def note_out_of_memory(error: BaseException) -> None:
    """Make the MemoryError of an array library an `OutOfMemoryError` too, with PyTorch's words.

    The error of a class that cannot be derived from stays as it is.
    """
    if not isinstance(error, MemoryError) or isinstance(error, OutOfMemoryError):
        return
    text, cls = str(error), cast(Hashable, type(error))
    shape, dtype = getattr(error, "shape", None), getattr(error, "dtype", None)
    try:
        error.__class__ = _out_of_memory(cls)
    except TypeError:  # the built-in class
        return
    if shape is not None and dtype is not None:
        nbytes = prod(shape) * dtype.itemsize
        error.args = (
            "DefaultCPUAllocator: can't allocate memory: you tried to allocate "
            f"{nbytes} bytes. {text}",
        )


@lru_cache(maxsize=8)
def _out_of_memory(cls: Any) -> type[OutOfMemoryError]:
    """Return the subclass of an array library's class that is an `OutOfMemoryError` too."""
    own = {name: OutOfMemoryError.__dict__[name] for name in ("__str__", "__reduce__")}
    # The given class comes first: an object takes on another class only if its layout is kept.
    return type("OutOfMemoryError", (cls, OutOfMemoryError), {"__module__": __name__, **own})


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """Return " Did you mean 'cuda'?" for a word close to one of `candidates`, or known by another
    name elsewhere, else an empty string. It is never the word itself.
    """
    from difflib import get_close_matches  # only errors need it

    by_lower = {candidate.lower(): candidate for candidate in candidates if candidate != word}
    elsewhere = _ELSEWHERE.get(word.lower())
    if elsewhere in by_lower:
        return f" Did you mean {by_lower[elsewhere]!r}?"
    matches = get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return f" Did you mean {by_lower[matches[0]]!r}?" if matches else ""


def printable(text: str) -> str:
    """Return `text` with control characters escaped, except for line ends, for output to a
    terminal.
    """
    if text.isprintable():
        return text
    return "".join(
        [each if each.isprintable() or each == "\n" else repr(each)[1:-1] for each in text]
    )


def where(skip: Collection[str] = INTERNAL_PACKAGES) -> str:
    """Return ``"file:line"`` of the innermost caller outside the packages `skip`.

    Parameters
    ----------
    skip
        Top-level package names; frames of their modules are passed over. If nothing else is on the
        stack, the outermost frame is the answer.
    """
    frame = calling_frame(skip, 2)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def calling_frame(skip: Collection[str] = INTERNAL_PACKAGES, depth: int = 1) -> FrameType:
    """Return the frame of the innermost caller, from the one `depth` up, outside the packages
    `skip`; see `where`.
    """
    frame = sys._getframe(depth)
    while (
        frame.f_globals.get("__name__", "").partition(".")[0] in skip and frame.f_back is not None
    ):
        frame = frame.f_back
    return frame


def distribution_of(code: ModuleType | str) -> str | None:
    """Return the name of the installed distribution that a module came with, or None if it came
    with none.

    The first call reads the metadata of everything installed; only errors and listings should ask.

    Parameters
    ----------
    code
        A module, the dotted name of one, or the path of a source file.
    """
    from pathlib import Path

    top_level, editable = _installed(tuple(sys.path))
    name: str
    filename: str | None
    if isinstance(code, str) and code.endswith(".py"):
        name, filename = _module_of_file(code), code
    else:
        module = sys.modules.get(code) if isinstance(code, str) else code
        name = code if isinstance(code, str) else code.__name__
        # Built-in modules, namespaces and the ``__main__`` of a prompt have no file.
        filename = getattr(module, "__file__", None)
    if (found := top_level.get(name.partition(".")[0])) is not None:
        return found
    if filename is not None:
        for root, distribution in editable:
            if Path(filename).is_relative_to(root):
                return distribution
    return None


def forget_distributions() -> None:
    """Forget which distributions are installed, so that those installed meanwhile are found."""
    _installed.cache_clear()


def _module_of_file(filename: str) -> str:
    """Return the top-level name under which the innermost entry of ``sys.path`` above `filename`
    finds it.
    """
    from pathlib import Path

    path = Path(filename)
    roots = [root for entry in sys.path if entry and path.is_relative_to(root := Path(entry))]
    if not roots:
        return path.stem
    return (
        path.relative_to(max(roots, key=lambda root: len(root.parts))).parts[0].removesuffix(".py")
    )


@lru_cache(maxsize=1)
def _installed(search_path: tuple[str, ...]) -> tuple[dict[str, str], list[tuple[Path, str]]]:
    """Return top-level name -> distribution, and (folder, distribution) of editable installs,
    innermost first.
    """
    from importlib.metadata import distributions

    top_level: dict[str, str] = {}
    editable: list[tuple[Path, str]] = []
    for distribution in distributions(path=list(search_path)):
        name = name_of_distribution(distribution)
        try:
            folder = _editable_folder(distribution)
            packages = _packages_of(distribution)
        except Exception:  # broken metadata of a stranger: where code is from is said without it
            continue
        for package in packages:
            top_level.setdefault(package, name)
        if folder is not None:
            editable.append((folder, name))
    editable.sort(key=lambda each: len(each[0].parts), reverse=True)
    return top_level, editable


def name_of_distribution(distribution: Distribution) -> str:
    """Return the name of an installed distribution; that of its folder, where its metadata has none
    or cannot be read.
    """
    try:
        metadata: Any = distribution.metadata
        name = metadata.get("Name")  # by an index, Python warns where there is none
    except Exception:  # whatever reading a stranger's file raises
        name = None
    if isinstance(name, str) and name.strip():
        return name
    folder = getattr(distribution, "_path", None)
    return "an unknown one" if folder is None else folder.name.partition("-")[0]


def _packages_of(distribution: Distribution) -> set[str]:
    listed = (distribution.read_text("top_level.txt") or "").split()
    found = listed or {file.parts[0] for file in distribution.files or () if file.suffix == ".py"}
    return {entry.removesuffix(".py") for entry in found}


def _editable_folder(distribution: Distribution) -> Path | None:
    import json
    from pathlib import Path
    from urllib.parse import unquote, urlsplit

    origin = distribution.read_text("direct_url.json")
    if origin is None:
        return None
    url = json.loads(origin)
    if not url.get("dir_info", {}).get("editable"):
        return None
    return Path(unquote(urlsplit(url["url"]).path))
