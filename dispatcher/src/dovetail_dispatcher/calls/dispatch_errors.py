"""What a call that finds no kernel is told: the keys, what is registered and where, and what to
do.
"""

from __future__ import annotations

from dovetail_kernel import DispatchKey, DispatchKeySet

from ..table.computed_table import backends_of_autograd_other, compute
from ..table.kernels import Kernel
from ..table.operator import Operator
from ..table.updates.pending import pending_in


def missing_kernel_error(
    op: Operator, key: DispatchKey, fallbacks: dict[DispatchKey, Kernel]
) -> NotImplementedError:
    """Return the error of a call of `op` whose highest key `key` has no kernel."""
    name = op.qualified_name
    registered = "\n".join(
        f"{k.key.name}: registered at {k.origin} [{k.name}]"
        for stack in op.kernels.values()
        for k in stack[:1]
    )
    if key is DispatchKey.Undefined:
        return NotImplementedError(
            "There were no tensor arguments to this function (e.g., you passed an empty list of "
            "Tensors), but no "
            f"fallback function is registered for schema {name}. This usually means that this "
            "function requires a "
            f"non-empty list of Tensors. Registered kernels:\n{registered or '(none)'}\nPass a "
            "Tensor, or register a "
            "kernel for BackendSelect or CompositeExplicitAutograd."
        )
    available = [
        k.name
        for k in DispatchKey
        if k.is_runtime and compute(op, k, fallbacks).tag not in _NOTHING
    ]
    return NotImplementedError(
        f"Could not run '{name}' with arguments from the '{key.name}' backend. This could be "
        "because the operator "
        f"doesn't exist for this backend, or was omitted when its plugin was built. '{name}' is "
        "only available for "
        "these backends: "
        f"[{', '.join(available)}].\n\n{registered or '(no kernel is registered)'}\n\n"
        f"{_remedy(op, key)}, move the arguments to "
        "another device, or "
        f"install a plugin that has it (see `dovetail plugins`).{_waiting(op)}"
    )


def _waiting(op: Operator) -> str:
    """Return a paragraph on the kernels of the namespace that no call can reach."""
    found = [str(each) for each in pending_in("".join(op.name.partition("::")[:2]))]
    if not found:
        return ""
    return "\n\nKernels that no call can reach; is a name misspelt?\n" + "\n".join(found)


def _remedy(op: Operator, key: DispatchKey) -> str:
    """Return how to register what is missing at `key`."""
    if key is DispatchKey.Meta:
        return (
            "Say which shape and dtype come out: dovetail.library.register_fake("
            f"{op.qualified_name!r}, fn)"
        )
    return f"Register one: Library.impl({op.base_name!r}, fn, {key.name!r})"


def fallthrough_error(op: Operator, keys: DispatchKeySet, key: DispatchKey) -> RuntimeError:
    """Return the error of a call of `op` that goes to a key that falls through."""
    advice = (
        "Every key of the call falls through, and so does the kernel that is there for no key: "
        "register a kernel for one of them."
        if key is DispatchKey.Undefined
        else "Take that key out of the set."
    )
    return RuntimeError(
        "fallthrough_kernel was executed but it should have been short-circuited: "
        f"{op.qualified_name} was called with {keys}, whose highest key {key.name} falls through. "
        f"{advice}"
    )


_NOTHING = ("missing", "backend fallback", "ambiguous autogradother")


def ambiguous_error(op: Operator) -> RuntimeError:
    """Return the error of a call of `op` at AutogradOther where two kernels contend."""
    kernels = [k for key in backends_of_autograd_other() if (k := op.newest(key))]
    return RuntimeError(
        f"{op.qualified_name} has kernels registered to both CompositeImplicitAutograd and a "
        "backend mapped to "
        "AutogradOther. This makes the backend kernel unreachable; the dispatcher will always "
        "prefer the "
        "CompositeImplicitAutograd lowering. Backend kernels: "
        f"{', '.join(f'{k.key.name} registered at {k.origin}' for k in kernels)}. If you want to "
        "override "
        "CompositeImplicitAutograd, register a kernel for AutogradOther too, or use "
        "CompositeExplicitAutograd."
    )
