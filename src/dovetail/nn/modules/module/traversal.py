"""Iteration over the parameters, buffers and submodules of a module, by name and in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from dovetail_aten import Tensor

from ...parameter import Parameter

if TYPE_CHECKING:
    from .module_class import Module

T = TypeVar("T")


class Traversal:
    """The part of Module that finds parameters, buffers and child modules."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]  # a Module or None: `typing.get_type_hints` reads this here

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Yield ``(dotted name, module)``: this module first, then its submodules, depth first.

        Parameters
        ----------
        memo : set of Module, optional
            Modules already seen; extended.
        prefix : str, default ''
            Put before every name.
        remove_duplicate : bool, default True
            Yield a module that is reachable by several names only once.
        """
        seen: set[Module] = set() if memo is None else memo
        this = cast("Module", self)
        if remove_duplicate:
            if this in seen:
                return
            seen.add(this)
        yield prefix, this
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(
                    seen, f"{prefix}.{name}" if prefix else name, remove_duplicate
                )

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """Yield this module and all its submodules, depth first."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield ``(name, module)`` of the direct submodules, each module once."""
        seen: set[Module] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """Yield the direct submodules, each once."""
        for _, module in self.named_children():
            yield module

    def _named_members(
        self,
        get_members_fn: Callable[[Module], Iterable[tuple[str, T | None]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, T]]:
        this = cast("Module", self)
        owners = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, this)]
        )
        seen: set[int] = set()
        for owner, module in owners:
            for name, value in get_members_fn(module):
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield (f"{owner}.{name}" if owner else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yield ``(dotted name, parameter)``: own parameters first, then those of submodules in
        insertion order.

        Parameters
        ----------
        prefix : str, default ''
            Put before every name.
        recurse : bool, default True
            Include submodules.
        remove_duplicate : bool, default True
            Yield a shared parameter only under its first name.
        """
        yield from self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield the parameters, each once; ``recurse``: those of submodules too."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield ``(dotted name, buffer)``; arguments as in `named_parameters`."""
        yield from self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield the buffers, each once; ``recurse``: those of submodules too."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str) -> Module:
        """Return the submodule with the dotted name ``target`` ('' is this module).

        Raises
        ------
        AttributeError
            If there is no such attribute, or it is not a module.
        """
        module = cast("Module", self)
        for name in target.split(".") if target else ():
            found = _attribute(module, name)
            if not isinstance(found, Traversal):  # which is what every Module is, and nothing else
                raise AttributeError(
                    f"`{name}` is not an nn.Module. named_modules() lists the submodules."
                )
            module = cast("Module", found)
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put ``module`` where the dotted name ``target`` says.

        Parameters
        ----------
        target : str
            The name; all but its last part name a submodule that is there.
        module : Module
            What to put there.
        strict : bool, default False
            Require that a submodule is replaced.

        Raises
        ------
        ValueError
            If ``target`` is empty or ``module`` is not a module.
        AttributeError
            If a submodule on the way is missing, or what would be replaced is not a module.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Traversal):
            raise ValueError(
                f"`module` is not an nn.Module, found {type(module)}. Pass an instance of one."
            )
        owner, _, name = target.rpartition(".")
        parent = self.get_submodule(owner)
        if strict or hasattr(parent, name):
            parent.get_submodule(name)
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """Return the parameter with the dotted name ``target``.

        Raises
        ------
        AttributeError
            If there is no such attribute, or it is not a parameter.
        """
        owner, _, name = target.rpartition(".")
        found = _attribute(self.get_submodule(owner), name)
        if not isinstance(found, Parameter):
            raise AttributeError(
                f"`{name}` is not an nn.Parameter. named_parameters() lists the parameters."
            )
        return found

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer with the dotted name ``target``.

        Raises
        ------
        AttributeError
            If there is no such attribute, or it is not a buffer.
        """
        owner, _, name = target.rpartition(".")
        module = self.get_submodule(owner)
        found = _attribute(module, name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer. named_buffers() lists the buffers.")
        return cast(Tensor, found)

    def apply(self, fn: Callable[[Module], object]) -> Self:
        """Call ``fn`` on every submodule and then on this module; returns self."""
        for module in self.children():
            module.apply(fn)
        fn(cast("Module", self))
        return self


def _attribute(module: Module, name: str) -> Any:
    if not hasattr(module, name):
        known = [*module._parameters, *module._buffers, *module._modules]
        raise AttributeError(
            f"{type(module).__name__} has no attribute `{name}`. "
            f"Its parameters, buffers and submodules are: {', '.join(known) or 'none'}."
        )
    return getattr(module, name)
