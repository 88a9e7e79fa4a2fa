"""`Module`: owns parameters, buffers and other modules; calling it is its ``forward`` between
hooks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from types import FunctionType
from typing import Any, Self

from dovetail_aten import Tensor
from dovetail_kernel import defining_module

from ....compiler import uncompiled
from ...parameter import Buffer, Parameter, type_name
from .hook_registration import HookRegistration
from .hooks import GLOBAL_HOOKS, apply_registration_hooks, call_with_hooks
from .moves import Moves

__all__ = ["Module"]

_OPERATORS = "dovetail_aten."
"""Where the functions of operators are defined. They are no methods of a class that has them among
its attributes (``conv = dovetail.conv2d``): PyTorch's, which are built in, are not either.
"""


def _forward_unimplemented(self: Module, *args: Any, **kwargs: Any) -> Any:
    """Compute the output; define it in every subclass."""
    raise NotImplementedError(
        f'Module [{type(self).__name__}] is missing the required "forward" function. '
        f"Define forward(self, ...) in {type(self).__module__}.{type(self).__qualname__}."
    )


class Module(Moves, HookRegistration):
    """Base class of all neural network modules.

    Parameters, buffers and modules assigned to attributes are registered under the attribute's
    name. Subclasses call ``super().__init__()`` first and define ``forward``.

    Attributes
    ----------
    training : bool
        True after construction and `train`, False after `eval`.
    """

    training: bool
    forward: Callable[..., Any] = _forward_unimplemented
    call_super_init: bool = False
    dump_patches: bool = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, value in list(vars(cls).items()):
            if isinstance(value, FunctionType) and defining_module(value).startswith(_OPERATORS):
                setattr(cls, name, staticmethod(value))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if (args or kwargs) and not self.call_super_init:
            raise TypeError(
                f"{type(self).__name__}.__init__() got an unexpected argument "
                f"{next(iter(kwargs or args))!r}. Modules take none, unless call_super_init is "
                "True: then the next base class gets them."
            )
        # Past __setattr__, which needs these tables.
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _non_persistent_buffers_set=set(),
            _modules={},
        )
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._hooks is None and not GLOBAL_HOOKS:
            return self.forward(*args, **kwargs)
        return call_with_hooks(self, args, kwargs)

    _call_impl = __call__

    def compile(self, *args: Any, **kwargs: Any) -> Self:
        """Return the module unchanged; the first call warns that nothing is compiled.

        The arguments are those of `dovetail.compile`, and are ignored.
        """
        compiled: Self = uncompiled(self)
        return compiled

    # Attributes

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        # Not a loop: every forward reads its parameters and submodules here.
        if "_modules" in own:
            if name in (table := own["_parameters"]):
                return table[name]
            if name in (table := own["_modules"]):
                return table[name]
            if name in (table := own["_buffers"]):
                return table[name]
        raise AttributeError(
            f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self
        )

    def __setattr__(self, name: str, value: object) -> None:
        own = self.__dict__
        if isinstance(value, Parameter):
            self._require_init("parameters")
            self._forget(name, keep="_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._require_init("module")
            self._forget(name, keep="_modules")
            own["_modules"][name] = apply_registration_hooks("module", self, name, value)
        elif name in own.get("_parameters", ()):
            if value is not None:
                raise _wrong_kind(
                    value, f"as parameter '{name}'", "dovetail.nn.Parameter or None", name
                )
            self.register_parameter(name, None)
        elif name in own.get("_modules", ()):
            if value is not None:
                raise _wrong_kind(
                    value, f"as child module '{name}'", "dovetail.nn.Module or None", name
                )
            own["_modules"][name] = None
        elif isinstance(value, Buffer):  # a name that is taken is an error
            self._register(name, value)
        elif name in own.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                raise _wrong_kind(
                    value,
                    f"as buffer '{name}'",
                    "dovetail.nn.Buffer, dovetail.Tensor or None",
                    name,
                )
            own["_buffers"][name] = apply_registration_hooks("buffer", self, name, value)
        else:
            super().__setattr__(name, value)

    def _register(self, name: str, buffer: Buffer) -> None:
        """Call `register_buffer`, which a class may override without ``persistent``."""
        persistent = getattr(buffer, "persistent", True)
        override = type(self).register_buffer is not Module.register_buffer
        if not override or "persistent" in signature(self.register_buffer).parameters:
            self.register_buffer(name, buffer, persistent)
        elif persistent:
            self.register_buffer(name, buffer)
        else:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements "
                "register_buffer() without the persistent argument is not allowed. Add it there."
            )

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __setstate__(self, state: Mapping[str, object]) -> None:
        self.__dict__.update(state)

    def __dir__(self) -> list[str]:
        own = [*self._parameters, *self._buffers, *self._modules]
        return sorted({*super().__dir__(), *(name for name in own if name.isidentifier())})

    def _require_init(self, what: str) -> None:
        if "_modules" not in self.__dict__:
            raise AttributeError(
                f"cannot assign {what} before Module.__init__() call. "
                f"Begin {type(self).__name__}.__init__ with super().__init__()."
            )

    def _forget(self, name: str, keep: str) -> None:
        """Drop what ``name`` meant before, except in the table where it is about to be set."""
        self.__dict__.pop(name, None)
        for table in ("_parameters", "_buffers", "_modules"):
            if table != keep:
                self.__dict__[table].pop(name, None)
        if keep != "_buffers":
            self._non_persistent_buffers_set.discard(name)

    # Registration

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter; None reserves the name (`state_dict` omits it).

        Raises
        ------
        TypeError
            If ``name`` is not a string, or if ``param`` is neither a `Parameter` nor None.
        KeyError
            If ``name`` contains a dot, is empty, or is already an attribute.
        ValueError
            If ``param`` is not a leaf.
        """
        self._require_init("parameter")
        self._check_name("parameter", name, self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type_name(param)}' object to parameter '{name}' "
                "(dovetail.nn.Parameter or None required). Wrap the tensor: nn.Parameter(tensor)."
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                "created explicitly. "
                f"To express '{name}' as a function of another Tensor, compute the value in the "
                "forward() method."
            )
        self._parameters[name] = apply_registration_hooks("parameter", self, name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a buffer: a tensor that moves with the module and, if ``persistent``, is part of its
        `state_dict`.

        Raises
        ------
        AttributeError
            Before ``Module.__init__``.
        TypeError
            If ``name`` is not a string, or if ``tensor`` is neither a tensor nor None.
        KeyError
            If ``name`` contains a dot, is empty, or is already an attribute.
        """
        self._require_init("buffer")
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type_name(tensor)}' object to buffer '{name}' (dovetail Tensor "
                "or None required). "
                "Make a tensor of it: dovetail.tensor(value)."
            )
        self._buffers[name] = apply_registration_hooks("buffer", self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a submodule; the same as `add_module`."""
        self.add_module(name, module)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule; None reserves the name.

        Raises
        ------
        TypeError
            If ``name`` is not a string, or if ``module`` is neither a `Module` nor None.
        KeyError
            If ``name`` contains a dot, is empty, or is already an attribute.
        """
        self._require_init("module")
        if module is not None and not isinstance(module, Module):
            raise TypeError(
                f"{type_name(module)} is not a Module subclass. Pass an instance of nn.Module."
            )
        self._check_name("module", name, self._modules)
        self._modules[name] = apply_registration_hooks("module", self, name, module)

    def _check_name(self, kind: str, name: str, table: Mapping[str, object]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain ".", got: {name}')
        if not name:
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if name not in table and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    # Modes and gradients

    def train(self, mode: bool = True) -> Self:
        """Set ``training`` of this module and all submodules; returns self.

        Raises
        ------
        ValueError
            If ``mode`` is not a bool.
        """
        if not isinstance(mode, bool):
            raise ValueError(
                f"training mode is expected to be boolean, but got {mode!r}. Pass True or False."
            )
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set ``training`` to False in this module and all submodules; returns self."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set ``requires_grad`` of all parameters; returns self."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters: to None, or in place to zero."""
        zero_gradients(self.parameters(), set_to_none)

    # Printing

    def extra_repr(self) -> str:
        """Return what to print between the parentheses of the module's repr; override."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        children = [
            f"({name}): {_addindent(repr(module))}" for name, module in self._modules.items()
        ]
        if not children and len(extra_lines) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(extra_lines + children) + "\n)"


def _addindent(s_: str, numSpaces: int = 2) -> str:
    """Indent every line of a text but the first."""
    return s_.replace("\n", "\n" + " " * numSpaces)


def zero_gradients(parameters: Iterable[Tensor], set_to_none: bool) -> None:
    """Reset ``.grad`` of ``parameters``: to None, or in place to zero, cut off from the graph that
    made it.
    """
    for parameter in parameters:
        gradient: Any = parameter.grad
        if gradient is None:
            continue
        if set_to_none:
            parameter.grad = None
        else:
            if gradient.requires_grad:
                parameter.grad = gradient = gradient.detach()
            gradient.zero_()


def _wrong_kind(value: object, target: str, expected: str, name: str) -> TypeError:
    return TypeError(
        f"cannot assign '{type_name(value)}' {target} ({expected} expected). "
        f"To give '{name}' another meaning, delete it first: del module.{name}."
    )
