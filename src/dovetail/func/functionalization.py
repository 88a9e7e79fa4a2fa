"""`functionalize`: a function without in-place writes, and optionally without views."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Final

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd.transforms import pytree
from dovetail_dispatcher import _C, TorchDispatchMode
from dovetail_kernel import ForceDispatchKeyGuard, dispatch_state, restoring, share_storage

from .functional_tensors import FunctionalTensor, Memory, resize, show_source, strided
from .functional_variants import copy_variant, functional_variant
from .replayed_views import View, laid_out

REMOVABLE: Final = ("mutations", "mutations_and_views")


def functionalize(func: Callable[..., object], *, remove: str = "mutations") -> Callable[..., Any]:
    """Return a function equivalent to `func` without in-place writes to intermediate tensors.

    Operators that write and ``out=`` variants are replaced by functional ones, and other views of
    the written memory are recomputed. A `TorchDispatchMode` around the call sees only functional
    operators. At the end, writes of `func` to its arguments are copied into them, once each.

    Parameters
    ----------
    func
        Takes and returns tensors, also in lists, tuples and dicts.
    remove
        ``'mutations'``: remove writes. ``'mutations_and_views'``: also replace view operators by
        copying ones, such as ``view_copy`` for ``view``.

    Raises
    ------
    RuntimeError
        For any other `remove`. When called: if `func` writes to a captured tensor, to one of two
        arguments that share memory, or to a view with overlapping elements.

    Notes
    -----
    Gradients flow through the results. Within `func` tensors do not require grad themselves:
    differentiate the function that this one returns.

    Examples
    --------
    >>> def f(x):
    ...     y = x.clone()
    ...     y[0].add_(1)
    ...     return y
    >>> functionalize(f)(dovetail.zeros(2))
    tensor([1., 0.])
    """
    if remove not in REMOVABLE:
        raise RuntimeError(
            "functionalize(f, remove='mutations'): received invalid argument for "
            f"remove={remove}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the "
            "program, and replaced "
            "with their out-of-place equivalents.\n"
            "     remove='mutations_and_views': In addition to the above, all aliasing operators "
            "{view} will be "
            "replaced with their non-aliasing counterparts, {view}_copy."
        )

    @wraps(func)
    def functional(*args: Any, **kwargs: Any) -> Any:
        run = _Functionalization(copies_views=remove == "mutations_and_views")
        given = pytree.map_leaves(run.take, (args, kwargs))
        result = run.around(func, *given[0], **given[1])
        run.write_back()
        return pytree.map_leaves(run.give, result)

    return functional


class _Functionalization(TorchDispatchMode):
    """One run of a function: what stands for which argument, and what becomes of every operator."""

    is_transform = True

    def __init__(self, copies_views: bool) -> None:
        self._copies_views = copies_views
        self._arguments: list[tuple[Tensor, FunctionalTensor]] = []
        self._excluded = dispatch_state().excluded

    def take(self, value: object) -> Any:
        """Return what stands for an argument inside the function."""
        if not isinstance(value, Tensor):
            return value
        for given, standing in self._arguments:
            if given is value:
                return standing
        standing = FunctionalTensor(value, Memory(value))
        self._arguments.append((value, standing))
        return standing

    def give(self, value: object) -> Any:
        """Return the tensor that one from inside the function stands for."""
        if not isinstance(value, FunctionalTensor):
            return value
        for given, standing in self._arguments:
            if standing is value:
                return given
        return value.value

    def write_back(self) -> None:
        """Copy what was written to the arguments into them. Raises RuntimeError if one of them
        shares memory with another: the function has not seen the write there.
        """
        storages = [share_storage(given) for given, _ in self._arguments]
        for given, standing in self._arguments:
            if standing.memory.changes:
                if storages.count(share_storage(given)) > 1:
                    raise RuntimeError(
                        "functionalize: the function wrote to an argument that shares memory with "
                        "another argument, "
                        "which cannot be followed. Pass one of them, and make the other inside "
                        "the function."
                    )
                if given.shape != standing.memory.value.shape:  # which a resize_ let grow
                    given.resize_(standing.memory.value.shape)
                given.copy_(standing.memory.value)
            for view in standing.views:
                view.show_in_place(given)

    @restoring()
    def __torch_dispatch__(
        self, func: object, types: object, args: Any = (), kwargs: Any = None
    ) -> Any:
        # Above autograd, where the values are concerned: they are recorded, the tensors that stand
        # for them are not.
        with ForceDispatchKeyGuard(dispatch_state().included, self._excluded):
            return self._run(func, list(args), dict(kwargs or {}))

    def _run(self, func: Any, args: list[Any], kwargs: dict[str, object]) -> Any:
        schema = func._schema
        if schema.is_mutable:
            return self._write(func, args, kwargs)
        if func.is_view and isinstance(args[0], FunctionalTensor):
            return self._view(func, args[0], args[1:], kwargs)
        made = func(*pytree.map_leaves(_value, args), **pytree.map_leaves(_value, kwargs))
        return pytree.map_leaves(partial(self._made, func), made)

    def _made(self, func: Any, value: object) -> Any:
        if not isinstance(value, Tensor):
            return value
        if func.is_view:
            return FunctionalTensor(value, Memory(value, is_captured=True))
        if not func._opname.endswith("empty_strided"):
            # In a `vmap` the elements of a sample lie apart, and no view could be put back.
            value = laid_out(value, value.stride())
        return FunctionalTensor(value, Memory(value))

    def _view(
        self, func: Any, base: FunctionalTensor, args: list[Any], kwargs: dict[str, Any]
    ) -> Any:
        plain = pytree.map_leaves(_value, args)
        if func._opname == "as_strided":
            size, stride, *offset = plain
            base.memory.is_shown = True
            start = offset[0] if offset else kwargs.get("storage_offset")
            return strided(base, size, stride, start, copies=self._copies_views)
        base.memory.is_shown = True
        op = copy_variant(func) if self._copies_views else func
        shown = op(base.value, *plain, **kwargs)
        geometries: Any = (
            _seen_without_copying(func, base, plain, kwargs) if self._copies_views else shown
        )

        def made(value: Tensor, geometry: Tensor, position: int | None) -> FunctionalTensor:
            order = tuple(geometry.stride()) if self._copies_views else None
            view = View(func, plain, kwargs, position, order)
            value = view.in_order(value)
            return FunctionalTensor(value, base.memory, (*base.views, view), geometry)

        if isinstance(shown, list | tuple):
            return [
                made(*pair, position)
                for position, pair in enumerate(zip(shown, geometries, strict=True))
            ]
        return made(shown, geometries, None)

    def _write(self, func: Any, args: list[object], kwargs: dict[str, object]) -> Any:
        arguments = func._schema.arguments
        given = {**dict(zip([a.name for a in arguments], args, strict=False)), **kwargs}
        written = [(a, given[a.name]) for a in arguments if a.is_write]
        for argument, target in written:
            if not isinstance(target, FunctionalTensor) or target.memory.is_captured:
                raise RuntimeError(
                    f"functionalize: {func} writes to its argument {argument.name}, which is "
                    "neither an argument of "
                    "the function nor made by it. Pass it as an argument."
                )
        if func._opname in ("resize_", "set_"):
            return self._place(func, args, kwargs)
        outs = {a.name for a, _ in written if a.is_out}
        inputs = [value for a, value in zip(arguments, args, strict=False) if a.name not in outs]
        options = {name: value for name, value in kwargs.items() if name not in outs}
        made = functional_variant(func)(
            *pytree.map_leaves(_value, inputs), **pytree.map_leaves(_value, options)
        )
        results = list(made) if isinstance(made, list | tuple) else [made]
        for (argument, target), result in zip(written, results, strict=True):
            target.write(_fitted(func, target, result, may_resize=argument.is_out))
        targets = [target for _, target in written]
        return targets[0] if len(targets) == 1 else tuple(targets)

    def _place(self, func: Any, args: list[Any], kwargs: dict[str, Any]) -> FunctionalTensor:
        """Let a tensor show another part of its memory, or another memory."""
        target, *rest = args
        if func._opname == "resize_":
            format_ = kwargs.get("memory_format")
            return resize(target, rest[0], format_, copies=self._copies_views)
        if any([standing is target for _, standing in self._arguments]):
            raise RuntimeError(
                "functionalize: set_ of an argument cannot be followed. Return the tensor that it "
                "is to show."
            )
        source, *place = rest or [aten.empty(0, dtype=target.dtype, device=target.device)]
        return show_source(target, source, place, copies=self._copies_views)


@restoring()
def _seen_without_copying(
    func: Any, base: FunctionalTensor, args: list[object], kwargs: dict[str, object]
) -> Any:
    """Return meta tensors with the shapes and strides of the views that would share memory with
    `base`.
    """
    with _C._DisableTorchDispatch():
        like = aten.empty_strided(
            tuple(base.shape), tuple(base.stride()), dtype=base.dtype, device="meta"
        )
        return func(like, *args, **kwargs)


def _value(value: object) -> Any:
    return value.value if isinstance(value, FunctionalTensor) else value


def _fitted(func: object, target: FunctionalTensor, result: Tensor, *, may_resize: bool) -> Tensor:
    """Return `result` as it is written to `target`: with its dtype, and its shape unless that may
    change. Raises RuntimeError if the shape of `target` is another.
    """
    if tuple(result.shape) != tuple(target.shape) and not (may_resize and not target.views):
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape "
            f"{list(result.shape)} of {func}. "
            "Use the operator that returns a new tensor."
        )
    return result if result.dtype is target.dtype else result.to(target.dtype)
