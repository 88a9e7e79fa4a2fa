"""Checks of an installation: versions, plugins, devices, environment, NumPy's BLAS, bytecode,
registrations.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import distributions
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any, Final, Literal

import numpy

import dovetail_aten as aten
import dovetail_autograd
from dovetail_dispatcher import _C, compiled_code
from dovetail_kernel import PluginError, name_of_distribution, plugin_manager

VARIABLES: Final = (
    "DOVETAIL_BLOCK",
    "DOVETAIL_FULL_TRACEBACKS",
    "DOVETAIL_NATIVE",
    "DOVETAIL_NATIVE_ISA",
    "DOVETAIL_OPERATORS",
)
"""The environment variables that Dovetail reads."""

THREAD_VARIABLES: Final = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)

PROCESSOR_VARIABLES: Final = ("OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES")
"""The environment variables that keep NumPy from instructions of the processor."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes
    ----------
    subject
        What was looked at.
    state
        "fine"; "note": may explain a surprise; "problem".
    text
        What was found.
    remedy
        What to do; empty if nothing is wrong.
    """

    subject: str
    state: Literal["fine", "note", "problem"]
    text: str
    remedy: str = ""


def examine() -> list[Finding]:
    """Return what there is to say about this installation."""
    return [finding for look in _LOOKS for finding in look()]


def _versions() -> Iterator[Finding]:
    yield Finding("python", "fine", f"{platform.python_version()} on {platform.platform()}")
    found: dict[str, list[tuple[str, str]]] = {}
    for distribution in distributions():
        name = name_of_distribution(distribution).lower().replace("_", "-")
        if name == "dovetail" or name in _OURS:
            place = str(distribution.locate_file(""))
            if place not in [where for _, where in found.get(name, [])]:
                found.setdefault(name, []).append((distribution.version, place))
    used = {name: each[0][0] for name, each in sorted(found.items())}
    text = ", ".join(f"{name} {version}" for name, version in used.items())
    if len(set(used.values())) > 1:
        newest = max(used.values())
        yield Finding(
            "dovetail",
            "problem",
            text,
            f"Install {newest} of all, from one clone or one folder of wheels",
        )
    else:
        yield Finding("dovetail", "fine", text)
    several = {name: each for name, each in sorted(found.items()) if len(each) > 1}
    for places in {tuple(place for _, place in each) for each in several.values()}:
        names = ", ".join(
            name for name, each in several.items() if tuple(place for _, place in each) == places
        )
        yield Finding(
            "installations",
            "note",
            f"{names} can be found in {' and in '.join(places)}; the first is used.",
            "If that is not meant, uninstall them until none is left, and install again.",
        )


_OURS: Final = (
    "dovetail-aten", "dovetail-autograd", "dovetail-cpu", "dovetail-cuda", "dovetail-dispatcher",
    "dovetail-kernel", "dovetail-native",
)  # fmt: skip


def _plugins() -> Iterator[Finding]:
    records = plugin_manager.list_plugins()
    for record in records:
        subject = f"plugin {record.name} of {record.distribution}"
        if record.state.startswith("failed"):
            yield Finding(
                subject, "problem", f"{record.state} (group {record.group})",
                "Repair it, or keep it out: "
                f"DOVETAIL_BLOCK={record.distribution}. The traceback: "
                f"dovetail.library.load({record.name!r})."
            )  # fmt: skip
        elif record.state == "blocked":
            yield Finding(
                subject, "note", "is kept out by DOVETAIL_BLOCK.", "Unset DOVETAIL_BLOCK to use it."
            )
    names_of_all = {_spelt(name) for each in records for name in (each.name, each.distribution)}
    for word in re.findall(r"[^,\s]+", os.environ.get("DOVETAIL_BLOCK", "")):
        if _spelt(word) not in names_of_all:
            near = get_close_matches(_spelt(word), names_of_all, n=1)
            remedy = f"Did you mean {near[0]}?" if near else "`dovetail plugins` lists the names."
            subject = f"DOVETAIL_BLOCK={word!r:.100}"
            yield Finding(subject, "note", "names no installed plugin and blocks none.", remedy)
    names = sorted({record.name for record in records if record.group == "dovetail.libraries"})
    for name in names:
        try:
            plugin_manager.load_library(name)
        except PluginError as error:
            if "is blocked by" not in str(error):
                yield Finding(
                    f"library {name}",
                    "problem",
                    _first_line(error.__cause__ or error),
                    "Repair it, or uninstall it.",
                )
    yield Finding("plugins", "fine", f"{len(records)} are installed; libraries: {', '.join(names)}")


def _devices() -> Iterator[Finding]:
    for name in plugin_manager.device_types():
        try:
            spec = plugin_manager.load_backend(name)
        except PluginError as error:
            yield Finding(
                f"device {name}", "note", _first_line(error), "Nothing, unless you want to use it."
            )
        else:
            count = spec.device_count()
            yield Finding(
                f"device {name}", "fine", f"is available: {count} device{'s' if count != 1 else ''}"
            )


def _spelt(name: str) -> str:
    return re.sub("[-_]+", "-", name).lower()


def _compiled_code() -> Iterator[Finding]:
    subject = "compiled code"
    if compiled_code.is_in_force():
        yield Finding(subject, "fine", "is in force.")
    elif compiled_code.is_switched_off():
        yield Finding(
            subject, "note", "is switched off by DOVETAIL_NATIVE=0.", "Unset it for faster calls."
        )
    else:
        yield Finding(
            subject, "note", "is missing, so that calls are slower.",
            "Install a C compiler, then reinstall dovetail-native.",
        )  # fmt: skip


def _environment() -> Iterator[Finding]:
    for name in sorted(os.environ):
        if name.startswith("DOVETAIL_") and name not in VARIABLES:
            near = get_close_matches(name, VARIABLES, n=1)
            yield Finding(
                name, "problem", "is set, but Dovetail does not read it.",
                f"Did you mean {near[0]}?" if near else f"It reads {', '.join(VARIABLES)}.",
            )  # fmt: skip
        elif name in VARIABLES:
            yield Finding(name, "note", f"is set to {os.environ[name]!r:.500}.")
    if sys.flags.optimize:
        yield Finding(
            "python -O",
            "note",
            "assertions are off.",
            "Leave out -O to see internal errors where they arise.",
        )


def _numpy() -> Iterator[Finding]:
    blas = blas_of_numpy()
    yield Finding("numpy", "fine", f"{numpy.__version__} with {blas}")
    if "no BLAS" in blas:
        yield Finding(
            "numpy",
            "problem",
            "was built without a BLAS: matrix products are slow.",
            "Install the wheel: pip install --force-reinstall numpy",
        )
    cores = usable_cores()
    for name in THREAD_VARIABLES:
        value = os.environ.get(name)
        if value is None:
            continue
        if not value.isdigit() or int(value) > cores:
            yield Finding(
                name,
                "problem",
                f"is {value!r}, but this process may use {cores} cores.",
                f"Unset it, or set it to at most {cores}.",
            )
        elif int(value) < cores:
            yield Finding(
                name,
                "note",
                f"is {value}: matrix products use {value} of {cores} cores.",
                "Unset it to use all.",
            )
    if cores < (os.cpu_count() or cores) and not any(
        [name in os.environ for name in THREAD_VARIABLES]
    ):
        yield Finding(
            "BLAS threads",
            "note",
            f"this process may use {cores} of {os.cpu_count()} cores, but the BLAS may start a "
            "thread for each.",
            f"If matrix products are slow, set OPENBLAS_NUM_THREADS={cores}.",
        )
    for name in PROCESSOR_VARIABLES:
        if os.environ.get(name):
            yield Finding(
                name,
                "note",
                f"is set to {os.environ[name]!r}: NumPy may not use all this processor can.",
                "Unset it.",
            )


def blas_of_numpy() -> str:
    """Return name and version of the BLAS that NumPy was built with."""
    config: Any = numpy.show_config(mode="dicts")
    blas = (config or {}).get("Build Dependencies", {}).get("blas", {})
    name = blas.get("name", "")
    return f"{name} {blas.get('version', '')}".strip() if name and name != "none" else "no BLAS"


def usable_cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _bytecode() -> Iterator[Finding]:
    if sys.dont_write_bytecode:
        yield Finding(
            "bytecode",
            "note",
            "is not written (PYTHONDONTWRITEBYTECODE or -B): every start compiles Dovetail anew.",
            "Unset it.",
        )
    stale, missing = [], []
    files = {
        n: getattr(m, "__file__", None)
        for n, m in list(sys.modules.items())
        if n.startswith("dovetail")
    }
    sources = [Path(file) for file in files.values() if file is not None and file.endswith(".py")]
    for source in sources:
        cached = Path(cache_from_source(str(source)))
        if not cached.exists():
            missing.append(cached)
        elif _is_stale(source, cached):
            stale.append(cached)
    # The next start renews what it can write: the source may be newer than this process, too.
    stale_for_good = [each.name for each in stale if not _can_be_written(each)]
    missing_for_good = [each for each in missing if not _can_be_written(each)]
    remedy = "The folders __pycache__ cannot be written: run python -m compileall as their owner."
    if stale_for_good:
        yield Finding(
            "bytecode",
            "problem",
            f"of {len(stale_for_good)} modules is older than their source and was not replaced: "
            f"{', '.join(stale_for_good[:5])}",
            remedy,
        )
    elif missing_for_good:
        yield Finding(
            "bytecode",
            "note",
            f"of {len(missing_for_good)} modules is not cached: every start compiles them.",
            remedy,
        )
    elif not missing and not stale:
        yield Finding("bytecode", "fine", f"of {len(sources)} modules is cached.")


def _can_be_written(file: Path) -> bool:
    """Return whether `file` can be made or replaced in its folder, which may have to be made."""
    folder = next(iter([each for each in file.parents if each.exists()]))
    return os.access(folder, os.W_OK)


def _is_stale(source: Path, cached: Path) -> bool:
    """Return whether the time and size noted in `cached` are not those of `source`: the header that
    PEP 552 fixes.
    """
    head = cached.read_bytes()[:16]
    if int.from_bytes(head[4:8], "little") & 1:
        return False  # checked by hash
    state = source.stat()
    return (
        int.from_bytes(head[8:12], "little") != int(state.st_mtime) & 0xFFFFFFFF
        or int.from_bytes(head[12:16], "little") != state.st_size & 0xFFFFFFFF
    )


def _registrations() -> Iterator[Finding]:
    pending = _C._dispatch_find_dangling_impls()
    for dump in pending:
        name = dump.partition("\n")[0].removeprefix("name: ")
        yield Finding(
            f"operator {name}",
            "problem",
            "has kernels but no definition.",
            "Define it: Library.define(...), or load the library that does.",
        )
    try:
        _C._dispatch_check_all_invariants()
    except RuntimeError as error:
        yield Finding("operator table", "problem", str(error))
    else:
        yield Finding(
            "operator table",
            "fine",
            f"{len(_C._dispatch_get_all_op_names())} operators are in order.",
        )


def _works() -> Iterator[Finding]:
    x = aten.tensor([1.0, 2.0], requires_grad=True)
    (gradient_of_x,) = dovetail_autograd.grad((x * x).sum(), x)
    gradient = None if gradient_of_x is None else numpy.asarray(gradient_of_x).tolist()
    if gradient == [2.0, 4.0]:
        yield Finding("a small gradient", "fine", "is right.")
    else:
        yield Finding(
            "a small gradient",
            "problem",
            f"is {gradient} instead of [2.0, 4.0].",
            "Install Dovetail again; if it stays, report it.",
        )


def _first_line(error: BaseException) -> str:
    text = str(error).splitlines()
    return f"{type(error).__name__}: {text[0] if text else ''}"


_LOOKS: Final[tuple[Callable[[], Iterator[Finding]], ...]] = (
    _versions, _plugins, _compiled_code, _devices, _environment, _numpy, _bytecode,
    _registrations, _works,
)  # fmt: skip
