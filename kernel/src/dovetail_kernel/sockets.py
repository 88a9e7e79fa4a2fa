"""Sockets of the kernel: every place where it calls what a room or a distribution above provides.

A lower room never imports a higher one. It declares a socket here, which the higher one fills. A
distribution that needs sockets of its own declares them in its module of this name.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager
    from typing import Protocol

    from .devices.backends import Backend
    from .plugins.entries import PluginEntry
    from .tensor.storage import Storage
    from .tensor.tensor_base import TensorBase
    from .types.dtype import dtype
else:
    Protocol = object  # a Protocol takes a tenth of a millisecond to make

P = TypeVar("P")


class Socket(Generic[P]):
    """A place that one object fills.

    Read it as ``SOCKET.plug``: one slot, so a call through it costs what a module's variable
    does.

    Parameters
    ----------
    filled_by
        The module that fills the socket.
    when
        The moment at which it does.
    default
        What stands in the socket until then. Without one, reading the empty socket is an error.

    Attributes
    ----------
    plug
        The object that fills the socket.
    is_filled
        Whether one does, and not the default.
    """

    __slots__ = ("filled_by", "is_filled", "plug", "when")

    plug: P

    def __init__(self, filled_by: str, when: str, *default: P) -> None:
        self.filled_by = filled_by
        self.when = when
        self.is_filled = False
        for plug in default:
            self.plug = plug

    def fill(self, plug: P) -> None:
        """Put `plug` into the socket, in place of what is there."""
        self.plug = plug
        self.is_filled = True

    if not TYPE_CHECKING:  # a type checker would take every name for an attribute

        def __getattr__(self, name: str) -> NoReturn:
            if name != "plug":
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            raise RuntimeError(
                f"This needs {self.filled_by}, which is not in use: it fills a socket "
                f"{self.when}. Import or load its distribution first."
            )


class SharedSocket(Generic[P]):
    """A place that any number of objects fill; all are called, in the order in which they came.

    Parameters
    ----------
    filled_by
        The modules that fill the socket.
    when
        The moment at which they do.

    Attributes
    ----------
    plugs
        The objects that fill the socket.
    """

    __slots__ = ("filled_by", "plugs", "when")

    plugs: tuple[P, ...]

    def __init__(self, filled_by: tuple[str, ...], when: str) -> None:
        self.filled_by = filled_by
        self.when = when
        self.plugs = ()

    def add(self, plug: P) -> None:
        """Put `plug` behind those that are there."""
        self.plugs = (*self.plugs, plug)


class AutogradInterface:
    """Queries about gradients. This class is used if autograd is not installed.

    The first argument of every method is the tensor.
    """

    def requires_grad(self, tensor: TensorBase) -> bool:
        """Return whether `tensor` requires grad; asked only if its signature says that it may."""
        return False

    def set_requires_grad(self, tensor: TensorBase, requires_grad: bool) -> None:
        """Make the leaf `tensor` require grad, or not."""
        if requires_grad:
            self._missing("requires_grad=True")

    def check_requires_grad_(self) -> None:
        """Raise an error for ``requires_grad_`` inside a function transform."""

    def text_inside(self, tensor: TensorBase) -> str | None:
        """Return ``repr(tensor)`` inside a function transform; None if it is the usual one."""
        return None

    def grad(self, tensor: TensorBase) -> TensorBase | None:
        """Return ``tensor.grad``."""
        return None

    def set_grad(self, tensor: TensorBase, grad: TensorBase | None) -> None:
        """Check and set ``tensor.grad``."""
        self._missing("setting .grad")

    def leaf_grad_dtype(self, tensor: TensorBase) -> dtype | None:
        """Return ``tensor.grad_dtype``."""
        return tensor.dtype

    def set_grad_dtype(self, tensor: TensorBase, wanted: dtype | None) -> None:
        """Choose the dtype in which gradients of the leaf `tensor` accumulate."""
        self._missing("setting .grad_dtype")

    def grad_fn(self, tensor: TensorBase) -> Any:
        """Return the node that created `tensor`, updated for a view whose base was written in
        place.
        """
        return None

    def is_leaf(self, tensor: TensorBase) -> bool:
        """Return whether `tensor` was created by the user instead of a recorded call."""
        return True

    def retains_grad(self, tensor: TensorBase) -> bool:
        """Return whether the non-leaf `tensor` keeps its gradient."""
        return False

    def retain_grad(self, tensor: TensorBase) -> None:
        """Keep the gradient of a non-leaf."""
        self._missing("retain_grad()")

    def base(self, tensor: TensorBase) -> TensorBase | None:
        """Return the tensor that `tensor` is a differentiable view of."""
        return None

    def check_inplace_view(self, tensor: TensorBase, name: str) -> None:
        """Check an in-place view operator `name`, which would change the view of `tensor`."""

    def take_history(self, tensor: TensorBase, view: TensorBase) -> None:
        """Give `tensor` the node of `view`, which it becomes."""

    def detach_(self, tensor: TensorBase) -> TensorBase:
        """Detach `tensor` from its graph, in place."""
        return tensor

    def backward_hooks(self, tensor: TensorBase) -> Any:
        """Return the mapping of tensor hooks, or None."""
        return None

    def set_backward_hooks(self, tensor: TensorBase, hooks: object) -> None:
        """Replace the mapping of tensor hooks; None removes it."""
        if hooks:
            self._missing("_backward_hooks")

    def post_accumulate_grad_hooks(self, tensor: TensorBase) -> Any:
        """Return the mapping of post-accumulate hooks, or None."""
        return None

    def register_hook(self, tensor: TensorBase, hook: Callable[..., object]) -> Any:
        """Register `hook` on the gradient of `tensor`."""
        self._missing("register_hook()")

    def register_post_accumulate_grad_hook(
        self, tensor: TensorBase, hook: Callable[..., object]
    ) -> Any:
        """Register `hook` to run after a gradient was accumulated into the leaf `tensor`."""
        self._missing("register_post_accumulate_grad_hook()")

    def backward(
        self,
        tensor: TensorBase,
        gradient: TensorBase | None,
        retain_graph: bool | None,
        create_graph: bool,
        inputs: TensorBase | Sequence[TensorBase] | None,
    ) -> None:
        """Compute the gradient of `tensor` with respect to the leaves of its graph."""
        self._missing("backward()")

    @staticmethod
    def _missing(what: str) -> NoReturn:
        raise RuntimeError(
            f"{what} needs automatic differentiation, which is not installed. Install "
            "dovetail-autograd, from the clone or the folder of wheels that the others came from"
        )


class KernelTable(Protocol):
    """Answers about registrations; by itself, as if there were no operator table."""

    def transaction(self) -> AbstractContextManager[Callable[[], None] | None]:
        """Return the context that a plugin is loaded in.

        It takes back half a registration, and gives what takes back a whole one.
        """
        return nullcontext()

    def count_kernels(self, entry: PluginEntry) -> int:
        """Return how many live kernels the plugin of `entry` has registered."""
        return 0


class NoKernelTable(KernelTable):
    """Answers about registrations where there is no operator table."""


if TYPE_CHECKING:

    class DefaultDtypeListener(Protocol):
        def __call__(self, new: dtype, /) -> object:
            """Forget what depends on the default dtype, which is `new` from now on."""

    class MemoryListener(Protocol):
        def __call__(self, is_filled: bool, /) -> object:
            """Fill new memory that nothing is written to, or leave it."""

    class BackendObserver(Protocol):
        def __call__(self, new: Backend, /) -> object:
            """Prepare for calls on a backend: each one that exists, and each new one."""

    class DeviceTypeSource(Protocol):
        def __call__(self) -> Iterable[str]:
            """Return device types that are installed and not loaded."""

    class OverridingClassObserver(Protocol):
        def __call__(self, cls: type, /) -> object:
            """Prepare for tensors of `cls`, which overrides functions as none of its bases does."""

    class CompiledAccessor(Protocol):
        def __call__(self, name: str, function: Callable[..., object], /) -> Callable[..., Any]:
            """Return a compiled callable that does what `function` does, which reads or sets the
            attribute `name` of a tensor, or enters or leaves a guard; or `function` itself.
            """

    class ExchangeFactory(Protocol):
        def __call__(
            self,
            from_array: Callable[..., object],
            from_capsule: Callable[..., object],
            to_capsule: Callable[..., object],
            stream_of: Callable[[int, int], int],
            /,
        ) -> Any:
            """Return a capsule of C functions that exchange tensors by DLPack."""


DEFAULT_DTYPE: Final[SharedSocket[DefaultDtypeListener]] = SharedSocket(
    ("dovetail_dispatcher.table.registry", "dovetail_native.classes"),
    "when it is imported, and at the first call of a compiled entry",
)
"""Called after every change of the default dtype."""

UNINITIALIZED_MEMORY: Final[SharedSocket[MemoryListener]] = SharedSocket(
    ("dovetail_native.kernel_table",), "with `COMPILED_OPERATOR`"
)
"""Called after every change of whether new memory is filled."""

NEW_BACKEND: Final[SharedSocket[BackendObserver]] = SharedSocket(
    (
        "dovetail_kernel.keys.dispatch_key",
        "dovetail_dispatcher.table.updates.pending",
        "dovetail_dispatcher.calls.fallback_kernels",
    ),
    "when they are imported",
)
"""Called with every backend; `on_new_backend` adds an observer."""

DEVICE_TYPES: Final[SharedSocket[DeviceTypeSource]] = SharedSocket(
    ("dovetail_kernel.plugins.manager",), "when it is imported"
)
"""Asked when an unknown device type turns up."""

OVERRIDING_CLASS: Final[SharedSocket[OverridingClassObserver]] = SharedSocket(
    ("dovetail_dispatcher.interception.intercepted_functions",), "when it is imported"
)
"""Called when a class of tensors is made that overrides functions."""

KERNEL_TABLE: Final[Socket[KernelTable]] = Socket(
    "dovetail_dispatcher.table.updates.transactions",
    "when the dispatcher is imported",
    NoKernelTable(),
)
"""Asked by the plugin manager while it loads and lists plugins."""

AUTOGRAD: Final[Socket[AutogradInterface]] = Socket(
    "dovetail_autograd.engine.interface.awaited_interface",
    "when autograd is loaded, and when a tensor is first asked about gradients",
    AutogradInterface(),
)
"""Asked by `TensorBase` for everything about gradients."""

STORAGE_CLASS: Final[Socket[type[Storage] | None]] = Socket(
    "dovetail_aten.tensor.storage_classes.untyped_storage",
    "when the base library is imported",
    None,
)
"""The class of storages; None is `Storage`."""

TENSOR_CLASS: Final[Socket[type[TensorBase] | None]] = Socket(
    "dovetail_aten", "when it is imported", None
)
"""The class of new tensors; None is `TensorBase`. `set_tensor_class` fills it."""

COMPILED_ACCESSOR: Final[Socket[CompiledAccessor | None]] = Socket(
    "dovetail_native", "when it is loaded", None
)
"""Called once per getter and method of `TensorBase` and `StateGuard` that compiled code takes
over. `compile_accessors` fills it.
"""

EXCHANGE_API: Final[Socket[ExchangeFactory | None]] = Socket(
    "dovetail_native", "when it is loaded", None
)
"""Called when ``Tensor.__dlpack_c_exchange_api__`` is first asked for."""
