"""`ModuleTracker`: the modules that are currently running, in forward and in backward, as in
``torch.utils.module_tracker``.
"""

from __future__ import annotations

from typing import Any, Self

from dovetail_aten import Tensor
from dovetail_autograd import (
    current_graph_task_id,
    default_engine,
    is_grad_enabled,
    register_multi_grad_hook,
)

from ..nn import Module
from ..nn.modules.module.hooks import register_module_forward_hook, register_module_forward_pre_hook
from ._pytree import tree_leaves

__all__ = ["ModuleTracker"]

_OUTSIDE = "Global"


class ModuleTracker:
    """Tracks the names of the running modules inside its block.

    A module is running from its call to its return; in backward, from the first gradient of its
    outputs to the last gradient of its inputs, or to the end of backward if no input requires grad.

    Attributes
    ----------
    parents : set of str
        ``"Global"``, and the names of the running modules: the class name of the outermost module,
        followed by the path.
    """

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._known: list[Module] = []  # so that no other gets the identity of one
        self._inside: list[str] = []
        self._handles: list[Any] = []
        self._task = -1

    @property
    def parents(self) -> set[str]:
        return {_OUTSIDE, *self._inside}

    @property
    def is_bw(self) -> bool:
        """Whether a backward is running."""
        return current_graph_task_id() != -1

    def __enter__(self) -> Self:
        self._handles += [
            register_module_forward_pre_hook(self._begin),
            register_module_forward_hook(self._end, always_call=True),
        ]
        return self

    def __exit__(self, *error: object) -> None:
        while self._handles:
            self._handles.pop().remove()
        self._inside.clear()

    def name_of(self, module: Module) -> str:
        """Return the name of a module; the outermost called module names its submodules."""
        if id(module) not in self._names:
            root = type(module).__name__
            for path, each in module.named_modules():
                if id(each) not in self._names:
                    self._names[id(each)] = f"{root}.{path}" if path else root
                    self._known.append(each)
        return self._names[id(module)]

    def _begin(self, module: Module, inputs: object) -> None:
        name = self.name_of(module)
        if self.is_bw:  # computed again, by a checkpoint
            return
        self._inside.append(name)
        self._watch(inputs, lambda grads: self._leave(name), "all")

    def _end(self, module: Module, inputs: object, outputs: object) -> None:
        name = self.name_of(module)
        if self.is_bw:
            return
        self._leave(name)
        self._watch(outputs, lambda grad: self._enter(name), "any")

    def _watch(self, values: object, hook: Any, mode: Any) -> None:
        """Have `hook` called in backward, for all or any of the tensors."""
        tensors = [
            each for each in tree_leaves(values) if isinstance(each, Tensor) and each.requires_grad
        ]
        if tensors and is_grad_enabled():
            self._handles.append(register_multi_grad_hook(tensors, hook, mode=mode))

    def _enter(self, name: str) -> None:
        task = current_graph_task_id()
        if task != self._task:
            self._task = task
            default_engine.queue_callback(self._inside.clear)
        self._inside.append(name)

    def _leave(self, name: str) -> None:
        for place in reversed(range(len(self._inside))):
            if self._inside[place] == name:
                del self._inside[place]
                return
