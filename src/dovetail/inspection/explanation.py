"""``dovetail.explain``: the kernels of a call of an operator, a function, a module or a name."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from types import MethodType
from typing import Any, overload

from dovetail_aten import Tensor
from dovetail_dispatcher import (
    CustomOpDef,
    Explanation,
    FunctionExplanation,
    OpOverload,
    OpOverloadPacket,
    explain_function,
)
from dovetail_dispatcher import explain as explain_operator

from ..func import functional_call
from ..nn import Module


@overload
def explain(
    op: OpOverload | OpOverloadPacket | CustomOpDef, /, *args: Any, **kwargs: Any
) -> Explanation: ...


@overload
def explain(op: object, /, *args: Any, **kwargs: Any) -> Explanation | FunctionExplanation: ...


def explain(op: object, /, *args: Any, **kwargs: Any) -> Explanation | FunctionExplanation:
    """Explain which kernels a call would run, and why, without running them.

    Parameters
    ----------
    op
        An operator: ``ops.aten.add``, ``ops.aten.add.Tensor``, or a name, ``"aten::add.Tensor"``,
        ``"aten::add"``. Or a function (``dovetail.add``, ``nn.functional.linear``), a method
        (``Tensor.add``), a module (``nn.Linear(2, 3)``), or a name in this package
        (``"nn.functional.relu"``, ``"Tensor.add"``).
    *args, **kwargs
        The arguments of the call.

    Returns
    -------
    Explanation
        For an operator: its keys, kernels and route; for a composite, also its inner calls.
    FunctionExplanation
        For a function or module: the operators that it calls, as a tree.

    Raises
    ------
    RuntimeError
        If there is no such operator or name, or if the arguments do not match the schema.
    TypeError
        If the object cannot be explained.

    Notes
    -----
    A composite, function or module is called on meta tensors, which have shapes but no data, to
    find its inner calls. So the tensors and parameters are not changed, and no kernel runs on them.
    Other effects of a function (printing, hooks, calls on tensors that it captured or creates on
    another device) do occur. The tree ends at operations that depend on data.

    An operator on CUDA tensors is called once on copies of them, unless it draws random numbers, to
    list the kernels that it launches (`Explanation.launches`). `tracing` lists those of a function
    or a module.

    Examples
    --------
    ::

        print(dovetail.explain(nn.functional.cross_entropy, logits, classes))
        dovetail.explain(model, x).records_graph
        dovetail.explain("nn.functional.prelu", x, weight).calls[0].calls
    """
    if isinstance(op, str) and "::" not in op:
        op = _of_name(op)
    if isinstance(op, MethodType) and op.__name__ == "forward" and isinstance(op.__self__, Module):
        op = op.__self__
    if isinstance(op, Module):
        return _of_module(op, args, kwargs)
    if isinstance(op, type) and issubclass(op, Module):
        raise TypeError(
            f"explain() takes a module, and {op.__name__} is a class of modules. Make one: "
            f"explain({op.__name__}(...), input)."
        )
    return explain_operator(op, *args, **kwargs)


def _of_module(
    module: Module, args: tuple[object, ...], kwargs: Mapping[str, object]
) -> FunctionExplanation:
    own: dict[str, Tensor] = dict(module.named_parameters(remove_duplicate=False))
    own.update(module.named_buffers(remove_duplicate=False))

    def call(own: Any, *args: Any, **kwargs: Any) -> Any:
        return functional_call(module, own, args, kwargs)

    return explain_function(call, (own, *args), kwargs, named=type(module).forward)


def _of_name(name: str) -> Any:
    """Return what this package calls `name`."""
    found: Any = import_module("dovetail")
    parts = name.removeprefix("dovetail.").split(".")
    for position, part in enumerate(parts):
        try:
            found = getattr(found, part)
        except AttributeError:
            near = get_close_matches(part, _names(found), n=1)
            meant = ".".join([*parts[:position], *near])
            raise RuntimeError(
                f"dovetail has no function {name!r}.{f' Did you mean {meant!r}?' if near else ''} "
                "Give a name in this package, such as 'nn.functional.relu' or 'Tensor.add', or "
                "that of an operator: 'aten::relu'."
            ) from None
    if not callable(found):
        raise TypeError(
            f"dovetail.{'.'.join(parts)} is not a function but a {type(found).__name__}. Name a "
            "function, a method or an operator."
        )
    return found


def _names(holder: object) -> list[str]:
    return [name for name in dir(holder) if not name.startswith("_")]
