"""Kernel: one implementation of an operator at one dispatch key, and where it came from."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from dovetail_kernel import DispatchKey
from dovetail_kernel.errors import distribution_of
from dovetail_kernel.plugins import PluginEntry

from .registrars import Registrar, is_written_anew, provider_name

TENSOR: Final = "tensor"
"""The kernel takes and returns tensors."""
ARRAY: Final = "array"
"""The kernel takes and returns the backend's arrays."""
BOXED: Final = "boxed"
"""A backend fallback: it takes the operator first, then tensors."""
WRAPPED: Final = "wrapped"
"""The fallback of wrapped tensors: it takes the operator, all positional arguments in a tuple, the
others in a dict.
"""
FALLTHROUGH: Final = "fallthrough"
"""The key is passed over."""
FORMULA: Final = "formula"
"""The derived Autograd kernel: the operator's formula record stands for it."""
CUSTOM: Final = "custom"
"""A tensor kernel of a `custom_op`: its results may not share memory with its arguments."""
FAKE: Final = "fake"
"""A tensor kernel for meta tensors that `register_fake` was given: it may call `get_ctx`."""
AUTOGRAD_FALLBACK: Final = "autograd fallback"
"""Convention of the fallback at the Autograd keys: nothing is known of how to differentiate the
operator.
"""
PASSED_ON: Final = "passed on"
"""The built-in fallback of a key that no tensor has here: the call goes on below it."""
COUNT_WRITES: Final = "count writes"
"""Stands at ADInplaceOrView for a mutable `custom_op`: versions of the written arguments are bumped
before the call.
"""


class Kernel:
    """One registered implementation.

    Parameters
    ----------
    fn
        What is called.
    key
        Where it is registered; may be an alias key.
    convention
        One of the constants of this module.
    location
        ``"file:line"`` of the registration, or a function that returns it.
    with_keyset
        The kernel wants the call's DispatchKeySet as its first argument.
    fast_path
        Array kernels only: a faster callable that takes the tensor arguments alone, used when every
        other argument has its default.
    out_function
        Array kernels only: a callable ``(*arrays, out=array)`` that writes its result into `out`,
        used when every other argument has its default.
    general_out_function
        Array kernels only: the same with all parameters of the kernel, used when one has another
        value.
    plugin
        The plugin that was being loaded when the kernel's library was made, if one was.
    registrar
        The code that made the kernel's library; None for kernels that come with Dovetail.
    is_proven
        Tests of the kernel's backend show that it returns what its schema says.
    when
        The condition: a predicate of the arguments of a call. Where it is false, the call goes on
        to the next kernel. None: no condition.
    why
        The condition in words.
    """

    __slots__ = (
        *(
            "convention",
            "fn",
            "out_function",
            "general_out_function",
            "key",
            "_location",
            "fast_path",
            "is_proven",
            "plugin",
            "registrar",
            "when",
            "why",
            "with_keyset",
        ),
    )

    def __init__(
        self,
        fn: Callable[..., object],
        key: DispatchKey,
        convention: str,
        location: str | Callable[[], str],
        *,
        with_keyset: bool = False,
        fast_path: Callable[..., object] | None = None,
        out_function: Callable[..., object] | None = None,
        general_out_function: Callable[..., object] | None = None,
        plugin: PluginEntry | None = None,
        registrar: Registrar | None = None,
        is_proven: bool = False,
        when: Callable[..., object] | None = None,
        why: str = "",
    ) -> None:
        self.fn = fn
        self.key = key
        self.convention = convention
        self._location = location
        self.with_keyset = with_keyset
        self.fast_path = fast_path
        self.out_function = out_function
        self.general_out_function = general_out_function
        self.plugin = plugin
        self.registrar = registrar
        self.is_proven = is_proven
        self.when = when
        self.why = why

    @property
    def location(self) -> str:
        """``file:line`` of the registration."""
        return self._location if isinstance(self._location, str) else self._location()

    @property
    def is_our_own(self) -> bool:
        """Whether it comes with Dovetail."""
        return self.plugin is not None and self.plugin.is_our_own

    @property
    def returns_by_schema(self) -> bool:
        """Whether tests show once that it returns what its schema says, so that routes need not
        check it, and may be the function itself.
        """
        return self.is_proven or self.is_our_own

    @property
    def is_fallthrough(self) -> bool:
        """Whether the kernel says: pass over this key."""
        return self.convention is FALLTHROUGH

    @property
    def name(self) -> str:
        """A name for people: module and qualified name of the function."""
        function = self._named_function
        module = getattr(function, "__module__", None)
        name = (
            getattr(function, "__qualname__", None)
            or getattr(function, "__name__", None)
            or type(function).__qualname__
        )
        return f"{module}.{name}" if module else name

    @property
    def source(self) -> str:
        """``file:line`` of the function itself where it is Python and in a file, else of its
        registration.
        """
        function = self._named_function
        while (inner := getattr(function, "__wrapped__", None)) is not None:
            function = inner  # a backend puts guards around its kernels
        code = getattr(function, "__code__", None) or getattr(
            type(function).__call__, "__code__", None
        )
        if code is None or code.co_filename.startswith("<dovetail "):
            return self.location
        return f"{code.co_filename}:{code.co_firstlineno}"

    @property
    def _named_function(self) -> Any:
        return self.fn.func if isinstance(self.fn, partial) else self.fn

    @property
    def distribution(self) -> str | None:
        """The installed distribution that registered the kernel; None for a script."""
        if self.plugin is not None:
            return self.plugin.distribution
        module = sys.modules.get(getattr(self._named_function, "__module__", None) or "")
        return (
            distribution_of(self.location.rpartition(":")[0])
            or distribution_of(self.source.rpartition(":")[0])
            or (None if module is None else distribution_of(module))
        )

    @property
    def origin(self) -> str:
        """Where the kernel was registered, for messages: ``file:line``, and the distribution of a
        plugin.
        """
        return origin(self.location, self.plugin)

    def is_run_again_as(self, new: Kernel) -> bool:
        """Return whether `new` is this implementation, registered by the same code run again."""
        if new.registrar is None or self.registrar is None or new.why != self.why:
            return False
        if is_written_anew(new.fn, self.fn):
            return True
        return new.registrar.replaces(self.registrar) and provider_name(new.fn) == provider_name(
            self.fn
        )

    def __repr__(self) -> str:
        return (
            f"<{self.convention} kernel {self.name} at "
            f"{self.key.name}, registered at {self.origin}>"
        )


def origin(location: str, plugin: PluginEntry | None) -> str:
    """Return `location` (``file:line``) with the distribution of the plugin that it belongs to."""
    if plugin is None:
        return location
    version = f" {plugin.version}" if plugin.version else ""
    return f"{location} ({plugin.distribution}{version})"


def fallthrough_kernel(*_args: Any, **_kwargs: Any) -> None:
    """Placeholder for "skip this key" in `Library.impl` and `Library.fallback`; never called."""
    raise NotImplementedError(
        "fallthrough_kernel() should never be called: it marks a key to pass over. Give it to "
        "Library.impl or fallback."
    )
