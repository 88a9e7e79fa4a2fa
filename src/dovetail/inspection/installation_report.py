"""Facts of an installation as one block of text for a bug report."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import dovetail_aten as aten
import dovetail_cpu
from dovetail_dispatcher import compiled_code
from dovetail_kernel import plugin_manager, printable

from .installation_checks import (
    PROCESSOR_VARIABLES,
    THREAD_VARIABLES,
    Finding,
    blas_of_numpy,
    examine,
    usable_cores,
)

_LIBRARIES: Final = (
    "numpy",
    "scipy",
    "ml_dtypes",
    "cupy-cuda12x",
    "cupy-cuda13x",
    "mpi4py",
    "dask",
)
_WIDTH: Final = 16


def installation_report() -> str:
    """Return the versions, plugins, compiled parts, BLAS and threads of this installation, the
    reasons why routes of this process are not compiled, and the findings of `examine`.

    It contains no paths in the home directory and no unrelated environment variables.
    """
    findings = examine()
    _call_some_operators()
    lines = [*_versions(), *_compiled_code(), *_threads(), *_environment(), *_plugins()]
    lines += [f"{each.state}: {_text(each)}" for each in findings if each.state != "fine"]
    return "\n".join(map(without_home, lines))


def without_home(text: str) -> str:
    """Return a text in which ``~`` stands for the home folder of the user."""
    for home in {str(Path.home()), os.path.realpath(Path.home())}:
        if len(home) > 1:
            text = text.replace(home, "~")
    return text


def _versions() -> Iterator[str]:
    yield _row("dovetail", version("dovetail"))
    yield _row("python", f"{platform.python_version()} {platform.python_implementation()}")
    yield _row("platform", f"{platform.platform()}, {platform.machine()}")
    found = []
    for name in _LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    yield _row("libraries", ", ".join(found))
    yield _row("BLAS", f"{blas_of_numpy()} (NumPy's)")


def _compiled_code() -> Iterator[str]:
    if not compiled_code.is_in_force():
        why = "switched off" if compiled_code.is_switched_off() else "missing"
        yield _row("compiled code", why)
        return
    core = import_module("dovetail_native._core")
    runs = ", ".join(core.INSTRUCTION_SETS)
    yield _row(
        "compiled code",
        f"dovetail-native {core.VERSION}, sources {core.SOURCE_HASH}, instruction set "
        f"{core.INSTRUCTION_SET} of {runs}",
    )
    from dovetail_native.lowering import PROGRAM, routes

    reasons = [f"{count} for {each}" for each, count in routes.most_common() if each != PROGRAM]
    yield _row("Python routes", "; ".join(reasons) or "none")


def _threads() -> Iterator[str]:
    cores = usable_cores()
    yield _row("threads", f"{dovetail_cpu.get_num_threads()} of {cores} usable processors")
    controller = import_module("threadpoolctl").ThreadpoolController()
    for each in controller.info():
        name = each.get("internal_api", "?")
        details = [str(each[k]) for k in ("version", "architecture") if each.get(k)]
        yield _row("thread pool", f"{' '.join([name, *details])}, {each['num_threads']} threads")


def _environment() -> Iterator[str]:
    for name in sorted(os.environ):
        if name.startswith("DOVETAIL_") or name in (*THREAD_VARIABLES, *PROCESSOR_VARIABLES):
            yield _row("environment", f"{name}={printable(os.environ[name])[:500]}")


def _plugins() -> Iterator[str]:
    for record in plugin_manager.list_plugins():
        state = record.state.partition("\n")[0]
        yield _row(
            "plugin",
            f"{record.group.removeprefix('dovetail.')} {record.name}: {record.distribution} "
            f"{record.version or ''}, {state}, {record.kernels} kernels",
        )


def _call_some_operators() -> None:
    """Make the calls of a small training step, whose routes the report counts."""
    x = aten.ones(4, 3)
    weight = aten.ones(3, 2).requires_grad_()
    bias = aten.zeros(2).requires_grad_()
    loss = (aten.relu(x @ weight + bias).log_softmax(1) ** 2).mean()
    loss.backward()
    aten.ones(3, 2).sub_(0.1).t().reshape(-1)[1:].sum()


def _text(finding: Finding) -> str:
    return f"{finding.subject}: {finding.text} {finding.remedy}".strip()


def _row(name: str, text: str) -> str:
    return f"{name + ':':{_WIDTH}}{text}"
