"""The functions of the package ``functorch``, which became ``torch.func``: for programs that were
written before, under the deprecation warnings that PyTorch gives. Under `as_torch` and
``dovetail run`` it is ``functorch``.
"""

from __future__ import annotations

import typing as _typing
from collections.abc import Callable as _Callable
from collections.abc import Sequence as _Sequence
from copy import deepcopy as _deepcopy
from functools import wraps as _wraps

from dovetail_aten import Tensor as _Tensor
from dovetail_kernel import warn_user as _warn_user

from . import func as _func
from .names.missing import serve_names as _serve_names
from .nn import Module as _Module

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "vjp",
    "vmap",
]

_Tensors: _typing.TypeAlias = tuple[_Tensor, ...]
_F = _typing.TypeVar("_F", bound=_Callable[..., _typing.Any])


def _deprecated(successor: str) -> _Callable[[_F], _F]:
    """Return a decorator that makes a function warn that `successor` took its place."""

    def decorate(function: _F) -> _F:
        name = function.__name__
        text = (
            "We've integrated functorch into PyTorch. As the final step of the integration, "
            f"`functorch.{name}` is deprecated as of PyTorch 2.0 and will be deleted in a future "
            f"version of PyTorch >= 2.3. Please use `torch.{successor}` instead; see the PyTorch "
            "2.0 release notes and/or the `torch.func` migration guide for more details "
            "https://pytorch.org/docs/main/func.migrating.html"
        )

        @_wraps(function)
        def call(*args: _typing.Any, **kwargs: _typing.Any) -> _typing.Any:
            _warn_user(text, FutureWarning)
            return function(*args, **kwargs)

        return _typing.cast(_F, call)

    return decorate


functionalize = _deprecated("func.functionalize")(_func.functionalize)
grad = _deprecated("func.grad")(_func.grad)
grad_and_value = _deprecated("func.grad_and_value")(_func.grad_and_value)
hessian = _deprecated("func.hessian")(_func.hessian)
jacfwd = _deprecated("func.jacfwd")(_func.jacfwd)
jacrev = _deprecated("func.jacrev")(_func.jacrev)
jvp = _deprecated("func.jvp")(_func.jvp)
vjp = _deprecated("func.vjp")(_func.vjp)
vmap = _deprecated("vmap")(_func.vmap)


class _Stateless(_Module):
    """A module, whose own parameters and buffers are on the meta device, and what they are called.

    Parameters
    ----------
    stateless_model
        The module.
    param_names, buffer_names
        Names of what calls give, in this order.
    """

    def __init__(
        self,
        stateless_model: _Module,
        param_names: _Sequence[str],
        buffer_names: _Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = tuple(param_names)
        self.buffer_names = tuple(buffer_names)

    def _call_with(
        self,
        params: _Sequence[_Tensor],
        buffers: _Sequence[_Tensor],
        args: _Tensors,
        kwargs: dict[str, _typing.Any],
    ) -> _typing.Any:
        state: dict[str, _Tensor] = {}
        for kind, names, given in (
            ("parameters", self.param_names, params),
            ("buffers", self.buffer_names, buffers),
        ):
            if len(names) != len(given):
                raise RuntimeError(
                    f"Expected {len(names)} {kind}, got {len(given)}. Pass what the function that "
                    "made this returned, in its order."
                )
            state.update(zip(names, given, strict=True))
        return _func.functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModuleWithBuffers(_Stateless):
    """A module as a function of its parameters and buffers."""

    def forward(
        self,
        params: _Sequence[_Tensor],
        buffers: _Sequence[_Tensor],
        *args: _typing.Any,
        **kwargs: _typing.Any,
    ) -> _typing.Any:
        """Call the module with these; buffers that it writes are written.

        Raises
        ------
        RuntimeError
            If there are more or fewer than the module has.
        """
        return self._call_with(params, buffers, args, kwargs)


class FunctionalModule(_Stateless):
    """A module without buffers as a function of its parameters."""

    def forward(
        self, params: _Sequence[_Tensor], *args: _typing.Any, **kwargs: _typing.Any
    ) -> _typing.Any:
        """Call the module with these.

        Raises
        ------
        RuntimeError
            If there are more or fewer than the module has.
        """
        return self._call_with(params, (), args, kwargs)


def _taken_apart(
    model: _Module, disable_autograd_tracking: bool
) -> tuple[FunctionalModuleWithBuffers, _Tensors, _Tensors]:
    copy = _deepcopy(model)
    parameters, buffers = dict(copy.named_parameters()), dict(copy.named_buffers())
    if disable_autograd_tracking:
        for each in parameters.values():
            each.requires_grad_(False)
    function = FunctionalModuleWithBuffers(_deepcopy(model).to("meta"), [*parameters], [*buffers])
    return function, tuple(parameters.values()), tuple(buffers.values())


@_deprecated("func.functional_call")
def make_functional(
    model: _Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, _Tensors]:
    """Return a module as a function of its parameters, and copies of them.

    Parameters
    ----------
    model
        A module without buffers; it is not changed.
    disable_autograd_tracking
        Return parameters that do not require grad. Default: False.

    Raises
    ------
    RuntimeError
        If the model has buffers.
    """
    if list(model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use "
            "make_functional_with_buffers(model) instead."
        )
    function, parameters, _ = _taken_apart(model, disable_autograd_tracking)
    return FunctionalModule(function.stateless_model, function.param_names), parameters


@_deprecated("func.functional_call")
def make_functional_with_buffers(
    model: _Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, _Tensors, _Tensors]:
    """Return a module as a function of its parameters and buffers, and copies of these.

    Parameters
    ----------
    model
        A module; it is not changed.
    disable_autograd_tracking
        Return parameters that do not require grad. Default: False.
    """
    return _taken_apart(model, disable_autograd_tracking)


@_deprecated("func.stack_module_state")
def combine_state_for_ensemble(
    models: _Sequence[_Module],
) -> tuple[FunctionalModuleWithBuffers, _Tensors, _Tensors]:
    """Return modules of one class as one function, for `vmap`, of their stacked parameters and
    buffers, which do not require grad.

    Raises
    ------
    RuntimeError
        If there are none, or they differ in class or mode.
    """
    if len(models) == 0:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({each.training for each in models}) > 1:
        raise RuntimeError(
            "combine_state_for_ensemble: Expected all models to have the same training/eval mode."
        )
    if len({type(each) for each in models}) > 1:
        raise RuntimeError(
            "combine_state_for_ensemble: Expected all models to be of the same class."
        )
    parameters, buffers = _func.stack_module_state(models)
    function, _, _ = _taken_apart(models[0], False)
    detached = tuple(each.detach() for each in parameters.values())
    return function, detached, tuple(buffers.values())


_serve_names(__name__)
