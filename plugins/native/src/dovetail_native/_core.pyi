from collections.abc import Callable
from contextvars import ContextVar
from types import FunctionType
from typing import Any, final

import numpy as np

VERSION: str
SOURCE_HASH: str
PLAN_FORMAT: int
MAX_REGISTERS: int
MAX_OPERANDS: int
MAX_PARAMETERS: int
INSTRUCTIONS: dict[str, int]
OPERANDS: dict[str, int]
PARAMETER_KINDS: dict[str, int]
ACCESSORS: dict[str, int]

EntryParameter = tuple[str | None, int, bool, int, Any, tuple[type, ...]]
EntrySource = (
    tuple[
        dict[int, Callable[..., Any]],
        tuple[EntryParameter, ...],
        int,
        bool,
        int,
        int,
        Callable[..., Any] | None,
        type | None,
        Callable[..., Any] | None,
        Callable[[int], Callable[..., Any] | None] | None,
        object,
    ]
    | Callable[[tuple[Any, ...], dict[str, Any]], Callable[..., Any] | None]
    | list[Any]
    | int
    | None
)

def set_classes(
    tensor_base: type,
    tensor: type,
    version_counter: type,
    state: ContextVar[int],
    scalar_bits: dict[type, int],
    /,
) -> None: ...
def set_attributes(
    known_sizes: dict[tuple[int, ...], Any],
    dtypes: dict[int, Any],
    types: dict[int, int],
    share_storage: Callable[[Any], Any],
    bits: tuple[int, ...],
    /,
) -> None: ...
def set_guard(guard: type, state: ContextVar[int], /) -> None: ...
def set_overrides(
    modes: tuple[ContextVar[tuple[Any, ...]], Any, Any, ContextVar[bool]],
    states: tuple[dict[int, Any], int, int, Any, int],
    refuse: Callable[..., Any],
    overridable: dict[Any, Any],
    /,
) -> None: ...
def set_default_device(stack: ContextVar[tuple[Any, ...]], cpu: Any, /) -> None: ...
def set_default_dtype(dtype: Any, /) -> None: ...
def set_filled_memory(is_filled: bool, /) -> None: ...
def exchange_api(
    from_array: Callable[[Any], Any],
    from_capsule: Callable[[Any], Any],
    to_capsule: Callable[[Any], Any],
    stream_of: Callable[[int, int], int],
    plain_bits: int,
    slow_bits: int,
    grad_bit: int,
    /,
) -> Any: ...
def set_shorten_traceback(function: Callable[[BaseException], None], /) -> None: ...
def set_view_class(cls: type, /) -> None: ...
def slot_offset(cls: type, name: str, /) -> int: ...
def is_bare_class(cls: type, /) -> bool: ...
def set_engine(
    node: type, accumulate_grad: type, parts: dict[str, Any], runs_in_python: int, /
) -> None: ...
def run_backward(task: Any, node: Any, edges: Any, grads: Any, /) -> None: ...

@final
class UfuncLoop:
    """A ufunc whose loop is called directly where all operands have one dtype. `takes_singles`:
    numbers of single precision beside half precision are rounded with the result.
    """

    def __new__(cls, ufunc: np.ufunc, takes_singles: bool = False) -> UfuncLoop: ...
    @property
    def __name__(self) -> str: ...
    @property
    def __wrapped__(self) -> Callable[..., Any]: ...
    @property
    def lays_out(self) -> bool: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

INSTRUCTION_SETS: list[str]
INSTRUCTION_SET: str

@final
class CompiledKernel:
    """The compiled kernel of an operator, which hands what it does not compute to a reference."""

    def __new__(cls, operator: str, reference: Callable[..., Any]) -> CompiledKernel: ...
    @property
    def __name__(self) -> str: ...
    @property
    def __wrapped__(self) -> Callable[..., Any]: ...
    @property
    def compiled_at(self) -> str: ...
    @property
    def never_warns(self) -> bool: ...
    @property
    def takes_halves(self) -> bool: ...
    @property
    def takes_out(self) -> bool: ...
    @property
    def lays_out(self) -> bool: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

def kernel_names() -> list[str]: ...

@final
class Route:
    """A plan as a program."""

    def __new__(
        cls,
        name: str,
        plan: Any,
        argument_count: int,
        register_count: int,
        program: tuple[tuple[Any, ...], ...],
    ) -> Route: ...
    @property
    def __name__(self) -> str: ...
    @property
    def plan(self) -> Any: ...
    @property
    def program(self) -> tuple[tuple[Any, ...], ...]: ...
    def __call__(self, *args: Any) -> Any: ...

@final
class Entry:
    """A function or an operator before its Python text."""

    def __new__(
        cls,
        function: FunctionType,
        describe: Callable[[Callable[..., Any]], EntrySource] | int,
        document: Callable[[Any], str | None] | None = None,
    ) -> Entry: ...
    @property
    def text(self) -> Callable[..., Any]: ...
    def description(self) -> EntrySource: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
