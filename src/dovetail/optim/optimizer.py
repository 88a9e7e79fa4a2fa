"""`Optimizer`: parameter groups with options, state per parameter, hooks around ``step``, and state
dicts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from copy import copy, deepcopy
from itertools import chain
from typing import Any, ClassVar, TypeAlias

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import enable_grad, no_grad
from dovetail_kernel import restoring, warn_user

from ..nn.modules.module.module_class import Module, zero_gradients
from ..nn.parameter import Parameter, type_name
from .custom_steps import *  # noqa: F403 - what other packages import from here
from .custom_steps import required
from .hooks import (
    OptimizerHooks,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
    with_hooks,
)
from .options import count, may_be_refused

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]


ParamGroup: TypeAlias = dict[str, Any]
Params: TypeAlias = Iterable[Tensor] | Iterable[ParamGroup] | Iterable[tuple[str, Tensor]]
ParamsT: TypeAlias = Params


class Optimizer(OptimizerHooks):
    """Base class of all optimizers; subclasses define ``step``.

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor), or of dict
        Parameters to optimize; dicts are groups with a key 'params' and options of their own.
    defaults : dict
        Defaults for options that a group lacks.

    Notes
    -----
    Options that most optimizers have: ``maximize`` maximizes the objective instead of minimizing
    it; ``foreach=False`` computes steps operator by operator; ``capturable``, only for parameters
    on a GPU, and ``fused`` do not change the result.

    With ``differentiable=True``, `step` is recorded: the new parameters, which cannot be leaves
    then, are functions of the old parameters, the gradients, a tensor learning rate, and earlier
    steps. If a later step writes to a parameter, use a clone of it in the loss.

    Attributes
    ----------
    param_groups : list of dict
        The groups with all their options.
    state : defaultdict of Tensor to dict
        State of the algorithm for each parameter.

    Raises
    ------
    TypeError
        If ``params`` is a tensor, contains anything but tensors, or if the 'params' of a group are
        a set.
    ValueError
        If ``params`` is empty, contains a non-leaf, or has the same parameter in two groups; if a
        group lacks an option whose default is `required`.
    """

    _later_options: ClassVar[dict[str, Any]] = {}
    """Options that were added later: a state from before has not got them."""
    _numbers: tuple[str, ...] = ()
    """Entries of the state that are tensors of one number; older state dicts have numbers."""
    _takes_sparse = False  # gradients

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = with_hooks(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[ParamGroup] = []
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {type_name(params)}. Pass a list: [param]."
            )
        if isinstance(params, Module) and not hasattr(params, "__iter__"):
            raise TypeError(
                f"'{type_name(params)}' object is not iterable. Pass its parameters: "
                "model.parameters()."
            )
        given: list[Any] = list(params)
        if len(given) == 0:
            raise ValueError(
                "optimizer got an empty parameter list. Pass model.parameters() as a list if it "
                "was used up."
            )
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(group)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_opt_called" not in self.__dict__:  # made by a pickle of protocol 0 or 1
            self._prepare()
        self.defaults.setdefault("differentiable", False)
        for group in self.param_groups:
            for name, value in self._later_options.items():
                group.setdefault(name, value)
        for values in self.state.values() if self._numbers else ():
            for name in self._numbers:
                if name in values and not isinstance(values[name], Tensor):
                    values[name] = count(float(values[name]))

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines += ["", f"Parameter Group {number}"][number == 0 :]  # an empty line between two
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join(lines) + "\n)"

    def add_param_group(self, param_group: ParamGroup) -> None:
        """Add a group of parameters, with the defaults for missing options.

        Parameters
        ----------
        param_group : dict
            'params': a tensor, or an ordered collection of tensors or (name, tensor) pairs; and
            options. The dict is completed in place and becomes the group.

        Raises
        ------
        TypeError, ValueError
            As for the constructor; the optimizer is then unchanged.
        """
        if not isinstance(param_group, dict):
            raise TypeError(
                f"param_group must be a dict, but got {type(param_group)}. Pass "
                f"{{'params': [...]}}."
            )
        params = param_group["params"]
        if isinstance(params, (set, frozenset)):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the "
                "ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        entries = [params] if isinstance(params, Tensor) else list(params)
        named = [isinstance(entry, tuple) for entry in entries]
        if any(named) and not all(named):
            raise ValueError(
                "all optimizer params should be with/without names. Some param names are missing. "
                "Pass model.named_parameters() or model.parameters()."
            )
        tensors: list[Tensor] = [entry[1] for entry in entries] if any(named) else entries
        for tensor in tensors:
            self._check_parameter(tensor)
        if len({id(tensor) for tensor in tensors}) != len(tensors):
            warn_user(
                "optimizer contains a parameter group with duplicate parameters; in future, this "
                "will cause an error"
            )
        taken = {id(parameter) for group in self.param_groups for parameter in group["params"]}
        if any([id(tensor) in taken for tensor in tensors]):
            raise ValueError(
                "some parameters appear in more than one parameter group. Name each in one group "
                "only."
            )
        if self.param_groups and ("param_names" in self.param_groups[0]) != any(named):
            raise ValueError(
                "all optimizer param groups should be with/without names. "
                f"cannot add param group {'with' if any(named) else 'without'} names to the "
                "optimizer"
            )
        group = {**param_group, "params": tensors}
        if any(named):
            group["param_names"] = [entry[0] for entry in entries]
        for key, value in self.defaults.items():
            if value is required and key not in group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter "
                    f"{key}. Give it in the group, or for all of them."
                )
            group.setdefault(key, value)
        param_group.update(group)
        self.param_groups.append(param_group)

    def _check_parameter(self, tensor: object) -> None:
        if not isinstance(tensor, Tensor):
            raise TypeError(
                "optimizer can only optimize Tensors, but one of the params is "
                f"{type_name(tensor)}. "
                "Pass model.parameters()."
            )
        if not (tensor.is_leaf or tensor.retains_grad or self.defaults.get("differentiable")):
            raise ValueError(
                "can't optimize a non-leaf Tensor. Detach it first: "
                "tensor.detach().requires_grad_()."
            )

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters: to None, or in place to zero."""
        for group in self.param_groups:
            zero_gradients(group["params"], set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters from their gradients.

        Parameters
        ----------
        closure : callable, optional
            Reevaluates the model with gradients enabled and returns the loss.

        Returns
        -------
        Any
            The value that ``closure`` returned, or None.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not define step(). Define it in the subclass."
        )

    @restoring()
    def _step_groups(
        self, closure: Callable[[], Any] | None, update: Callable[[ParamGroup], None]
    ) -> Any:
        """Evaluate the closure, update the groups one by one, and return the loss.

        Updates are not recorded, unless they are differentiable. A parameter that the rule refuses
        is found before any is changed.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter, gradient in may_be_refused(group["params"], self):
                self._try_step(parameter, gradient, group, update.__name__)
        with enable_grad() if self.defaults.get("differentiable") else no_grad():
            for group in self.param_groups:
                update(group)
        return loss

    @no_grad()
    def _try_step(
        self, parameter: Tensor, gradient: Tensor, group: ParamGroup, update: str
    ) -> None:
        """Take the step of one parameter on a copy of everything, which may raise, and see that
        the parameter itself can be written.
        """
        if group.get("differentiable"):
            return
        twin = Parameter(aten.zeros(gradient.shape, dtype=gradient.dtype, device=gradient.device))
        twin.grad = gradient
        twin.data = parameter.detach().clone()
        trial = copy(self)
        trial.state = defaultdict(dict)
        if parameter in self.state:
            trial.state[twin] = deepcopy(self.state[parameter])
        trial.param_groups = [{**group, "params": [twin]}]
        getattr(trial, update)(trial.param_groups[0])
        parameter.copy_(parameter)

    def _state_of(self, parameter: Tensor, group: ParamGroup) -> dict[str, Any]:
        """Return the state of a parameter, to be written in place.

        Where steps are recorded these are copies, since the graph needs what the last step left.
        """
        state: dict[str, Any] = self.state[parameter]
        if group["differentiable"]:
            for name, value in state.items():
                if isinstance(value, Tensor):
                    state[name] = value.clone()
        return state

    def state_dict(self) -> dict[str, Any]:
        """Return the state and the groups, with parameters replaced by their indices.

        Returns
        -------
        dict
            'state': dict of index to the parameter's state (the tensors themselves);
            'param_groups': list of dict whose 'params' are indices.
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        parameters = chain.from_iterable(group["params"] for group in self.param_groups)
        index: dict[int, int] = {}
        for parameter in parameters:
            index.setdefault(id(parameter), len(index))
        groups = [
            {
                **{key: value for key, value in group.items() if key != "params"},
                "params": [index[id(p)] for p in group["params"]],
            }
            for group in self.param_groups
        ]
        state = {
            index[id(key)] if isinstance(key, Tensor) else key: value
            for key, value in self.state.items()
        }
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            if changed is not None:
                result = changed
        return result

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load a copy of the state and the options in ``state_dict``.

        Tensors of the state are cast to the parameter's dtype and device, except ``step``.

        Parameters
        ----------
        state_dict : mapping
            The result of `state_dict` of an optimizer with groups of the same lengths.

        Raises
        ------
        ValueError
            If the groups differ in number or length; the optimizer is then unchanged.
        """
        state_dict = dict(state_dict)
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        groups, saved_groups = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved_groups):
            raise ValueError(
                "loaded state dict has a different number of parameter groups: "
                f"{len(saved_groups)}, but the optimizer has {len(groups)}. Build it with the "
                "same groups."
            )
        for number, (group, saved) in enumerate(zip(groups, saved_groups, strict=True)):
            if len(group["params"]) != len(saved["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of "
                    "optimizer's group: "
                    f"group {number} has {len(saved['params'])} parameters there and "
                    f"{len(group['params'])} here. "
                    "Build the optimizer with the same parameters."
                )
        by_index = dict(
            zip(
                chain.from_iterable(saved["params"] for saved in saved_groups),
                chain.from_iterable(group["params"] for group in groups),
                strict=True,
            )
        )
        state: defaultdict[Any, Any] = defaultdict(dict)
        for index, value in state_dict["state"].items():
            if index in by_index:
                state[by_index[index]] = _restored(by_index[index], value)
            else:
                state[index] = value
        for group, saved in zip(groups, saved_groups, strict=True):
            saved["params"] = group["params"]
            if "param_names" in group:
                saved.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)


def _restored(parameter: Tensor, value: object, key: str | None = None) -> Any:
    """Copy a parameter's saved state, with its tensors in the parameter's dtype and on its
    device.
    """
    if isinstance(value, Tensor):
        if key == "step":
            return value.clone()
        if parameter.is_floating_point():
            return value.to(device=parameter.device, dtype=parameter.dtype, copy=True)
        return value.to(device=parameter.device, copy=True)
    if isinstance(value, dict):
        return {name: _restored(parameter, item, name) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_restored(parameter, item) for item in value)
    return deepcopy(value)
