"""What the lines of a registration program are run with: either library, kernels that note that
they ran, arguments, states; and what is compared of a call.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from registration_values import (
    first_tensor,
    mode_class,
    node_name,
    outcome_of,
    text_of,
    wrapper_class,
)

NUMBERS = count()
"""Numbers the namespaces: what one program leaves behind, no other one sees."""

DEPTH = 3
"""How often a kernel may be entered again by what it calls."""

READY = 4
"""How many results a kernel has ready: it makes none in a state that would lead the call elsewhere.
"""

UNCOMPARED_WARNINGS = (
    "a previously registered kernel",  # once per process
    "an autograd kernel was not registered",  # Dovetail raises in backward instead
)

REFRESHED = ("CompositeExplicitAutograd", "Autograd", "CompositeImplicitAutogradNestedTensor")
"""Keys whose registration lets PyTorch compute the entries that it had left as they were."""

Observation = tuple[str, ...]


class Side:
    """One library, for the run of one program.

    Attributes
    ----------
    lib, C
        ``torch`` and ``torch._C``, or ``dovetail`` and ``dovetail._C``.
    ns
        A namespace that no program had before.
    op
        The operators in it.
    log
        Which kernels, modes and classes ran since the last observation, with what they were given.
    """

    def __init__(self, name: str) -> None:
        if name == "torch":
            import torch as lib
            import torch.utils._python_dispatch as python_dispatch
        else:
            import dovetail as lib  # type: ignore[no-redef]
            import dovetail._C
            import dovetail.utils._python_dispatch as python_dispatch  # type: ignore[no-redef]
        self.name = name
        self.lib: Any = lib
        self.C: Any = lib._C
        # Keys of backends that PyTorch has not, which another test may have made.
        self._own_keys = {
            key.name
            for key in (self.C.DispatchKey if name == "dovetail" else ())
            if key.backend is not None and key.backend.component >= 1 << 64
        }
        self.ns = f"programs{next(NUMBERS)}"
        self.op: Any = getattr(lib.ops, self.ns)
        self.log: list[str] = []
        self._made: list[Any] = []
        self._left: list[Any] = []
        self._views: set[str] = set()
        self._batched: set[str] = set()
        self._customs: dict[str, Any] = {}
        self._depth = 0
        self._numbers = count(1)
        self.Mode = mode_class(self, python_dispatch.TorchDispatchMode)
        self.Wrapper = wrapper_class(self, lib.Tensor)

    # -- registering -------------------------------------------------------------------------------

    def library(self, kind: str, key: str = "", ns: str | None = None) -> Any:
        """Make a library, which is destroyed at the end."""
        made = self.lib.library.Library(ns or self.ns, kind, key)
        self._made.append(made)
        return made

    def unheld(self, schema: str) -> None:
        """Define an operator with a library that is held no more afterwards."""
        made = self.lib.library.Library(self.ns, "DEF")
        made.define(schema)
        if self.name == "dovetail":
            self._left = made._changes

    def write_below_inplace_or_view(self, tensor: Any) -> None:
        """Write to a tensor below Autograd and ADInplaceOrView."""
        with self.C._AutoDispatchBelowADInplaceOrView():
            tensor.add_(1)

    def run_again(self, library: Any, number: int) -> None:
        """Register a kernel by code that is compiled each time, as a notebook cell is."""
        text = "def cell(library):\n    def k(x): return x.clone()\n    library.impl('f', k, 'CPU')"
        names: dict[str, Any] = {"__name__": self.ns}
        exec(compile(text, f"cell {number}", "exec"), names)
        names["cell"](library)

    def custom_op(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Make a custom op in the namespace of the program, in place of the one before."""
        self._customs.pop(name, None)
        if "(a)" in kwargs["schema"]:
            self._views.add(name)
        made = self._customs[name] = self.lib.library.custom_op(
            f"{self.ns}::{name}", *args, **kwargs
        )
        self._made.append(made._lib)
        return made

    def live(self, custom: Any) -> Any:
        """Return a custom op; PyTorch crashes where one is used that is there no more."""
        if custom not in self._customs.values():
            raise ReferenceError("the custom op is there no more")
        return custom

    def forget(self, custom: Any) -> None:
        """Destroy a custom op."""
        self._customs = {n: each for n, each in self._customs.items() if each is not custom}
        custom._lib._destroy()

    def kernel(self, name: str, body: str = "new", *, keys: bool = False) -> Callable[..., Any]:
        """Return a kernel that notes that it ran, and returns what `body` says."""
        what, _, target = body.partition(":")
        number = float(next(self._numbers))
        ready = {
            device: [self.lib.tensor([number, number], device=device) for _ in range(READY)]
            for device in ("cpu", "meta")
        }

        def kernel(*args: Any, **kwargs: Any) -> Any:
            given, values = (args[0], args[1:]) if keys else (None, args)
            shown = f" {given}" if keys else ""
            if self._views:  # see `_is_compared`
                shown = shown.replace("ADInplaceOrView, ", "")
            self.log.append(f"{name}{shown} {text_of(values)} {text_of(kwargs)}")
            self._depth += 1
            try:
                if self._depth > DEPTH:
                    raise ValueError("too deep")
                return self._body(what, target, ready, given, values, kwargs)
            finally:
                self._depth -= 1

        return kernel

    def fallback(self, name: str, *, keys: bool = False) -> Callable[..., Any]:
        """Return a backend fallback, which gets the operator before the arguments."""
        kernels = {what: self.kernel(name, what) for what in ("new", "first")}

        def fallback(*args: Any, **kwargs: Any) -> Any:
            shown = f"{args[0]} " if keys else ""
            op, *values = args[int(keys) :]
            self.log.append(f"{name} {shown}{op}")
            what = "first" if "(a!)" in str(op._schema).rpartition("->")[2] else "new"
            return kernels[what](*values, **kwargs)

        return fallback

    def _body(self, what: str, target: str, ready: Any, keys: Any, args: Any, kwargs: Any) -> Any:
        first = kwargs.get("out", first_tensor(self.lib, args))
        among = [each for arg in args for each in (arg if isinstance(arg, list | tuple) else [arg])]
        is_meta = any(isinstance(each, self.lib.Tensor) and each.is_meta for each in among)
        device = "meta" if is_meta else "cpu"
        match what:
            case "new":
                return ready[device].pop()
            case "pair":
                return ready[device].pop(), ready[device].pop()
            case "list":
                return [ready[device].pop(), ready[device].pop()]
            case "first":
                return first
            case "nothing":
                return None
            case "int":
                return 7
            case "double":
                return first * 2
            case "add":
                return first.add_(1)
            case "view":
                return first[:1]
            case "raise":
                raise ValueError("by the kernel")
            case "call":
                return getattr(self.op, target)(*args, **kwargs)
            case "below":
                with self.C._AutoDispatchBelowAutograd():
                    return getattr(self.op, target)(*args, **kwargs)
            case "redispatch":
                lower = keys & self.C._after_autograd_keyset
                return getattr(self.op, target).default.redispatch(lower, *args, **kwargs)
        raise AssertionError(what)

    def backward(self, name: str) -> Callable[..., Any]:
        """Return the backward of a derivative, which notes that it ran."""

        def backward(ctx: Any, *grads: Any) -> Any:
            self.log.append(f"{name} backward of {len(grads)}")
            found = next((g for g in grads if g is not None), None)
            return tuple([found] + [None] * (ctx.count - 1))

        return backward

    def setup_context(self, name: str) -> Callable[..., Any]:
        """Return the ``setup_context`` that goes with `backward`."""

        def setup_context(
            ctx: Any, inputs: Any, output: Any, keyword_only_inputs: Any = None
        ) -> None:
            self.log.append(f"{name} setup {text_of(inputs)}")
            ctx.count = len(inputs)

        return setup_context

    def rule(self, name: str, op: str) -> Callable[..., Any]:
        """Return a batching rule of an operator, which notes that it ran."""
        self._batched.add(op)

        def rule(info: Any, in_dims: Any, *args: Any) -> Any:
            self.log.append(f"{name} vmap {info.batch_size} {in_dims}")
            return args[0], in_dims[0]

        return rule

    def dispatch_rule(self, name: str) -> Callable[..., Any]:
        """Return what a mode or class does with an operator, which notes that it ran."""

        def rule(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.log.append(f"{name} rule {text_of(args)}")
            return 3

        return rule

    # -- calling -----------------------------------------------------------------------------------

    def argument(self, kind: str) -> Any:
        """Return an argument of a call by what it is called in programs."""
        lib = self.lib
        match kind:
            case "cpu":
                return lib.tensor([1.0, 2.0])
            case "grad":
                return lib.tensor([1.0, 2.0], requires_grad=True)
            case "half":
                return lib.tensor([1.0, 2.0], dtype=lib.float16)
            case "meta":
                return lib.ones(2, device="meta")
            case "inference":
                with lib.inference_mode():
                    return lib.tensor([1.0, 2.0])
            case "wrapper":
                return lib.Tensor._make_subclass(self.Wrapper, lib.tensor([1.0, 2.0]))
            case "list":
                return [self.argument("cpu"), self.argument("cpu")]
            case "grads":
                return [self.argument("grad"), self.argument("cpu")]
            case "metas":
                return [self.argument("cpu"), self.argument("meta")]
        return {"none": None, "empty": [], "5": 5, "2.5": 2.5, "text": "text"}[kind]

    @contextlib.contextmanager
    def state(self, name: str) -> Iterator[None]:
        """Put a state in force by what it is called in programs."""
        lib, C = self.lib, self.C
        what, _, key = name.partition(":")
        match what:
            case "no_grad" | "inference_mode":
                context: Any = getattr(lib, what)()
            case "below_autograd":
                context = C._AutoDispatchBelowAutograd()
            case "below_inplace_or_view":
                context = C._AutoDispatchBelowADInplaceOrView()
            case "autocast":
                context = lib.autocast("cpu", dtype=lib.bfloat16)
            case "mode":
                context = self.Mode()
            case "exclude":
                context = C._ExcludeDispatchKeyGuard(C.DispatchKeySet(C._parse_dispatch_key(key)))
            case "include":
                context = C._IncludeDispatchKeyGuard(C._parse_dispatch_key(key))
            case _:
                context = contextlib.nullcontext()
        with context:
            yield

    def call(
        self, target: Any, args: list[str], state: str = "plain", *, backward: bool = False
    ) -> str:
        """Call an operator, and return what is compared of it."""
        if isinstance(target, str):
            name, _, overload = target.partition(".")
            target = getattr(self.op, name)
            target = getattr(target, overload) if overload else target
        values = [self.argument(kind) for kind in args if not kind.startswith("out=")]
        outs = [self.argument(kind[4:]) for kind in args if kind.startswith("out=")]
        kwargs = dict(zip(["out"], outs, strict=False))
        function = self.lib.func.vmap(target) if state == "vmap" else target
        with self.state(state):
            result = function(*values, **kwargs)
        shown = [self.describe(result)]
        if state == "mode" and self._views:
            shown = [shown[0].replace(" view", "")]
        tensors = [v for v in values if isinstance(v, self.lib.Tensor) and not v.is_inference()]
        if state not in ("mode", "below_inplace_or_view"):
            shown += [f"version {v._version}" for v in tensors]
        if backward and "WarnNotImplemented" not in shown[0]:
            outcome = outcome_of(lambda: first_tensor(self.lib, [result]).sum().backward())
            shown += [outcome] + [self.describe(v.grad) for v in tensors if v.is_leaf]
        return "; ".join(shown)

    def describe(self, value: Any) -> str:
        """Return what is compared of a value that a call returned."""
        if isinstance(value, list | tuple):
            return f"{type(value).__name__}({', '.join(map(self.describe, value))})"
        if not isinstance(value, self.lib.Tensor):
            return f"{type(value).__name__} {value}"
        name = "" if type(value) is self.lib.Tensor else f"{type(value).__name__} "
        values = "" if name or value.device.type == "meta" else f" {value.tolist()}"
        grad = f" {node_name(value.grad_fn)}" if value.requires_grad else ""
        inference = " inference" if value.is_inference() else ""
        inference += " view" if not name and value._is_view() else ""
        dtype = str(value.dtype).rpartition(".")[2]
        return f"{name}{dtype} {value.device.type}{values}{grad}{inference}"

    # -- observing ---------------------------------------------------------------------------------

    def observe(self, run: Callable[[], Any]) -> Observation:
        """Run a step; return what came of it, what ran, and what it warned of."""
        self.log.clear()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            outcome = outcome_of(run)
        warned = [
            f"warns {each.category.__name__}"
            for each in caught
            if not any(text in str(each.message) for text in UNCOMPARED_WARNINGS)
        ]
        found = (outcome, *self.log, *dict.fromkeys(warned))
        return tuple([each.replace(self.ns, "NS") for each in found if each])

    def table(self, name: str) -> str:
        """Return the computed table: which rule chose the kernel of each key."""
        lines = self.C._dispatch_dump_table(f"{self.ns}::{name}").splitlines()
        return "; ".join([
            f"{line.partition(':')[0]}{' falls through' if ': fallthrough' in line else ''} "
            f"{line.rpartition('[')[2].rstrip(']')}"
            for line in lines
            if line and self._is_compared(name, line)
        ])  # fmt: skip

    def falls_through(self, name: str, key: str) -> bool:
        """Return whether the kernel at a key is a fallthrough; of an operator that is not there,
        PyTorch crashes.
        """
        qualified = f"{self.ns}::{name}"
        if not self.C._dispatch_has_kernel(qualified):
            raise ReferenceError(f"there is no operator {name}")
        return bool(self.C._dispatch_kernel_for_dispatch_key_is_fallthrough(qualified, key))

    def dump(self, name: str) -> str:
        """Return what is registered, without places."""
        lines = self.C._dispatch_dump(f"{self.ns}::{name}").splitlines()
        return "; ".join([re.sub(r"(fallthrough )?registered at.*", "", line)
            for line in lines
            if line and self._is_compared(name, line)
        ])  # fmt: skip

    def _is_compared(self, name: str, line: str) -> bool:
        """Return whether a line is to be the same: it is not of a backend that another test made,
        and not of a batching rule, which is no kernel in Dovetail.
        """
        key = line.partition(":")[0]
        if key == "FuncTorchBatched" and name in self._batched:
            return False
        # PyTorch has a kernel there for a custom op that returns views ("views of custom operators"
        # in docs/differences.md), and two for one that also writes.
        if key.startswith("ADInplaceOrView") and (name in self._views or "inactive" in key):
            return False
        return self.name == "torch" or key.partition("[")[0].split(" ")[0] not in self._own_keys

    def settle(self) -> list[str]:
        """Let PyTorch compute its tables anew where it says itself that they are wrong; return of
        which operators.

        Its table is refreshed in part only, so that it depends on the order of registrations.
        """
        names = [f"{self.ns}::{name}" for name in ("f", "g", "f.other", "g.other")]
        stale = [n for n in names if self.C._dispatch_has_kernel(n) and self._is_stale(n)]
        for name in stale:
            for key in REFRESHED:
                # Not by `Library`: in modes, PyTorch goes on running what that has taken back.
                refresh = self.C._dispatch_library("FRAGMENT", self.ns, "", __file__)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of an overridden kernel, once per process
                    refresh.impl(name, key, lambda *args, **kwargs: None, False)
                refresh.reset()
        return stale

    def _is_stale(self, name: str) -> bool:
        try:
            self.C._dispatch_check_invariants(name)
        except RuntimeError:
            return True
        return False

    def close(self) -> None:
        """Take back everything that the program registered."""
        for library in reversed(self._made):
            library._destroy()
        while self._left:
            self._left.pop().revert()
