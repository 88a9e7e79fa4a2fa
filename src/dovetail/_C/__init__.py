"""The names of ``torch._C`` that Dovetail has: those of the dispatcher and of autograd, and the
objects that hold the generated functions.
"""

from typing import Any, Final

from dovetail_aten import Tensor
from dovetail_aten.python_modules import TensorMethods as _TensorBase
from dovetail_autograd import (
    _get_autograd_fallback_mode,
    _set_autograd_fallback_mode,
    default_engine,
)
from dovetail_autograd import current_autograd_node as _current_autograd_node
from dovetail_autograd import (
    current_graph_task_execution_order as _current_graph_task_execution_order,
)
from dovetail_autograd import current_graph_task_id as _current_graph_task_id
from dovetail_autograd import is_multithreading_enabled as _is_multithreading_enabled
from dovetail_autograd import will_engine_execute_node as _will_engine_execute_node
from dovetail_dispatcher import _C
from dovetail_dispatcher._C import *  # noqa: F403 - its __all__ says which
from dovetail_kernel import Device, MemoryFormat, backend, dtype, get_default_device

from ..names.refused_names import refused as _refused
from . import _functions as _functions
from .core_names import PLACES, core_name
from .operator_modules import _VariableFunctions, _VariableFunctionsClass, operator_module

_EngineBase = _ImperativeEngine = type(default_engine)
_nn: Final = operator_module("_nn", "nn")
_linalg: Final = operator_module("_linalg", "linalg")
_fft: Final = operator_module("_fft", "fft")
_special: Final = operator_module("_special", "special")
_TensorMeta: Final = type(Tensor)
has_lapack: Final = True
has_spectral: Final = True
has_mkl: Final = False
has_openmp: Final = False


def _initExtension(shm_manager_path: str) -> None:
    """Load the backend of the default device, which the first tensor does otherwise.

    Parameters
    ----------
    shm_manager_path
        Where PyTorch has its manager of shared memory; there is none here.
    """
    backend(get_default_device().type)


def _parse_to(
    *args: Any, **kwargs: Any
) -> tuple[Device | None, dtype | None, bool, MemoryFormat | None]:
    """Return what the arguments of ``Module.to`` mean: device, dtype, whether not to wait, and the
    memory format; None for what is not given.
    """
    from ..nn.modules.module.moves import parse_to

    memory_format = kwargs.pop("memory_format", None)
    return (*parse_to(*args, **kwargs), memory_format)


_nn._parse_to = _parse_to  # type: ignore[attr-defined]  # beside the operators


def _log_api_usage_once(event: str) -> None:
    """Do nothing: the use of a library is not counted."""


def _get_tracing_state() -> object | None:
    """Return what records the calls of the program for `dovetail.jit.trace`, or None."""
    from ..jit.recording import current_recorder

    return current_recorder()


def _are_functorch_transforms_active() -> bool:
    """Return whether a function of `dovetail.func` (`vmap`, `grad`, `jvp`, …) is running."""
    from dovetail_autograd import active_levels

    return bool(active_levels())


__all__ = [
    "_EngineBase",
    "_ImperativeEngine",
    "_TensorBase",
    "_TensorMeta",
    "_VariableFunctions",
    "_VariableFunctionsClass",
    "_are_functorch_transforms_active",
    "_current_autograd_node",
    "_current_graph_task_execution_order",
    "_current_graph_task_id",
    "_fft",
    "_functions",
    "_get_autograd_fallback_mode",
    "_get_tracing_state",
    "_initExtension",
    "_is_multithreading_enabled",
    "_linalg",
    "_log_api_usage_once",
    "_nn",
    "_set_autograd_fallback_mode",
    "_special",
    "_will_engine_execute_node",
    "has_lapack",
    "has_mkl",
    "has_openmp",
    "has_spectral",
]
__all__ += _C.__all__


def __getattr__(name: str) -> Any:
    if name in PLACES:
        return core_name(name)
    if (value := _refused(__name__, name)) is not None:
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *PLACES})
