"""Random registration programs: what is combined in them, and what is left out because PyTorch
crashes, or where Dovetail differs on purpose (``docs/differences.md``).
"""

from __future__ import annotations

import random
from typing import Any

from registration_language import Program, line

SCHEMAS = {
    "(Tensor x) -> Tensor": (("new", "new", "double"), (("cpu",), ("grad",), ("meta",))),
    "(Tensor x, int n=3) -> Tensor": (("new", "double"), (("cpu",), ("grad", "5"), ("meta", "5"))),
    "(Tensor x, Tensor y) -> Tensor": (
        ("new",),
        (("cpu", "cpu"), ("grad", "cpu"), ("cpu", "meta"), ("cpu", "inference")),
    ),
    "(Tensor(a!) x) -> Tensor(a!)": (("first", "add"), (("cpu",), ("meta",))),
    "(Tensor(a!) x) -> ()": (("nothing",), (("cpu",), ("meta",))),
    "(Tensor x, *, Tensor(a!) out) -> Tensor(a!)": (
        ("first",),
        (("cpu", "out=cpu"), ("meta", "out=meta")),
    ),
    "(Tensor(a) x) -> Tensor(a)": (("view",), (("cpu",), ("grad",), ("meta",))),
    "(Tensor x) -> (Tensor, Tensor)": (("pair",), (("cpu",), ("grad",), ("meta",))),
    "(Tensor[] xs) -> Tensor": (("new",), (("list",), ("grads",), ("metas",), ("empty",))),
    "(Tensor x) -> Tensor[]": (("list",), (("cpu",), ("grad",), ("meta",))),
    "(Tensor? x) -> Tensor": (("new",), (("cpu",), ("none",), ("grad",), ("meta",))),
    "(Tensor x) -> int": (("int",), (("cpu",), ("grad",), ("meta",))),
    "(int n) -> int": (("int",), (("5",), ("2.5",))),
    "(*, int n=2) -> Tensor": (("new",), ((),)),
    "(Tensor x, *, float s=1.5) -> int": (("int",), (("cpu",), ("text",), ("grad", "5"))),
}
"""Schemas, with bodies of kernels and arguments of calls that go with each."""

ALIASES = (
    "Autograd",
    "CompositeImplicitAutograd",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
    "CompositeImplicitAutogradNestedTensor",
    "FuncTorchBatchedDecomposition",
)
OFTEN = (
    *("CPU", "CPU", "CPU", "Meta", "Autograd", "Autograd", "AutogradCPU", "AutogradMeta"),
    *("CompositeImplicitAutograd", "CompositeExplicitAutograd", "", "BackendSelect"),
    *("CompositeExplicitAutogradNonFunctional", "ADInplaceOrView"),
)
SELDOM = (
    *("AutocastCPU", "Functionalize", "Python", "CUDA", "AutogradCUDA", "AutogradOther"),
    *("SparseCPU", "QuantizedCPU", "NestedTensorCPU", "AutogradNestedTensor", "Conjugate"),
    *("CompositeImplicitAutogradNestedTensor", "FuncTorchBatchedDecomposition", "Undefined"),
    *("PythonTLSSnapshot", "TESTING_ONLY_GenericMode", "PreDispatch", "Negative", "ZeroTensor"),
    *("FuncTorchBatched", "Tracer", "CatchAll", "XLA", "MkldnnCPU", "NoSuchKey"),
)
STATES = (
    *("plain", "plain", "plain", "no_grad", "inference_mode", "below_autograd"),
    *("below_inplace_or_view", "autocast", "mode", "exclude:AutogradCPU"),
    *("exclude:CPU", "include:AutocastCPU", "include:Negative"),
    *("include:TESTING_ONLY_GenericMode", "include:AutogradOther"),
)
LOOKS = (
    *("has", "has at", "has any", "has computed", "falls through", "table", "dump"),
    *("schema", "overloads", "attributes", "tags"),
)


class Generator:
    """Makes the program of a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(f"registrations {seed}")
        self.program: Program = []
        self.libraries: list[str] = []
        self.customs: list[tuple[str, str, str]] = []
        self.schemas = {name: self.choice(tuple(SCHEMAS)) for name in ("f", "g")}
        self.kernels = 0
        self.destroyed = False
        self.composites: set[str] = set()
        self.forgotten: set[str] = set()

    def choice(self, options: Any) -> Any:
        return self.random.choice(options)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def add(self, what: str, **filled: Any) -> None:
        self.program.append((what, filled))

    def key(self, op: str) -> str:
        key = str(self.choice(OFTEN if self.chance(0.8) else SELDOM))
        takes_tensor = self.schemas[op].startswith(("(Tensor x", "(Tensor("))
        # What PyTorch runs for no key depends on the order of registration.
        return key if takes_tensor or not key.endswith("NonFunctional") else "CPU"

    def op(self) -> str:
        return "f" if self.chance(0.8) else "g"

    def kernel(self, op: str, *, falls: bool = True, keys: bool = False) -> str:
        if falls and self.chance(0.12):
            return "S.lib.library.fallthrough_kernel"
        self.kernels += 1
        bodies = SCHEMAS[self.schemas[op]][0]
        others = ("raise", f"call:{'g' if op == 'f' else 'f'}", f"below:{op}")
        returns_view = "(a)" in self.schemas[op]
        if returns_view:  # a custom op has a kernel at ADInplaceOrView in PyTorch
            others = others[:2]
        body = self.choice(bodies) if self.chance(0.88) else self.choice(others)
        if keys and self.chance(0.5) and not returns_view:
            body = f"redispatch:{op}"
        return f"S.kernel('k{self.kernels}', {body!r}{', keys=True' if keys else ''})"

    def library(self) -> str:
        if not self.libraries or (len(self.libraries) < 4 and self.chance(0.15)):
            kind = self.choice(("DEF", "FRAGMENT", "FRAGMENT", "IMPL"))
            if not self.libraries:
                kind = "DEF"
            key = (
                self.choice(("CPU", "Autograd", "Meta"))
                if kind == "IMPL" and self.chance(0.3)
                else ""
            )
            self.libraries.append(f"l{len(self.program)}")
            self.add("library", var=self.libraries[-1], kind=kind, key=key, ns="")
        return str(self.choice(self.libraries))

    # -- steps -------------------------------------------------------------------------------------

    def define(self, op: str | None = None) -> None:
        if self.destroyed:  # PyTorch crashes where a name is defined again
            return
        op = op or self.op()
        library, schema = self.library(), self.schemas[op]
        if self.chance(0.2):
            self.add("function define", op=op, schema=schema, var=library)
            return
        tags = ", tags=S.lib.Tag.pointwise" if self.chance(0.1) else ""
        overload = ".other" if self.chance(0.06) else ""
        self.add("define", var=library, schema=f"{op}{overload}{schema}", tags=tags)

    def impl(self) -> None:
        op, library, keys = self.op(), self.library(), self.chance(0.25)
        options = ", with_keyset=True" if keys else ""
        kernel, key = self.kernel(op, keys=keys), self.key(op)
        if key == "Meta" and self.destroyed:  # refused where the definitions are gone
            key = "CPU"
        if key in ("", "Undefined", "CompositeImplicitAutograd"):
            self.composites.add(op)
        # PyTorch compares the text of the key, of which that of composites has three.
        # A derivative that goes with its definition stays, as a kernel, in PyTorch.
        derived = self.destroyed and any([step[0].endswith("autograd") for step in self.program])
        if op not in self.composites and self.chance(0.1) and not derived:
            options += ", allow_override=False"
        self.add("impl", var=library, op=op, kernel=kernel, key=key, options=options)

    def function(self) -> None:
        op, library = self.op(), self.library()
        if (
            self.destroyed or op in self.forgotten
        ):  # PyTorch registers for the custom op that is there no more
            return
        what = self.choice((
            *("function impl", "register_kernel", "register_kernel", "register_fake"),
            *("register_fake", "register_autograd", "register_autograd", "register_vmap"),
            *("register_torch_dispatch", "register_autocast"),
        ))  # fmt: skip
        if what == "register_vmap" and op in self.composites:  # which decompose in Dovetail
            return
        if what == "register_autocast" and any("AutocastCPU" in line(s) for s in self.program):
            return  # PyTorch raises a KeyError
        if what == "register_autocast" and "(a!)" in self.schemas[op]:
            return  # PyTorch casts what is written, too
        self.kernels += 1
        self.add(
            what,
            op=op,
            var=library,
            name=f"k{self.kernels}",
            kernel=self.kernel(op, falls=False),
            types=self.choice(("cpu", "default", ["cpu", "cuda"], "meta"))
            if what == "function impl"
            else self.choice(("cpu", None, "cuda", "cpu" if self.customs else ["cpu", "cuda"])),
            options=", allow_override=False"
            if what == "register_fake" and not self.customs and self.chance(0.2)
            else "",
            cls=self.choice(("Mode", "Wrapper")),
        )

    def fallback(self) -> None:
        key = self.choice((
            *("TESTING_ONLY_GenericMode", "TESTING_ONLY_GenericMode", "SparseCPU"),
            *("TESTING_ONLY_GenericWrapper", "DeferredInit", "AutogradNestedTensor"),
        ))  # fmt: skip
        var = f"b{len(self.program)}"
        self.add("library", var=var, kind="IMPL", key="", ns=", ns='_'")
        keys = self.chance(0.4)
        self.kernels += 1
        kernel = f"S.fallback('k{self.kernels}'{', keys=True' if keys else ''})"
        if self.chance(0.25):
            kernel, keys = "S.lib.library.fallthrough_kernel", False
        options = ", with_keyset=True" if keys else ""
        self.add("fallback", var=var, kernel=kernel, key=key, options=options)

    def custom(self) -> None:
        if not self.customs or self.chance(0.25):
            op = self.op()
            schema = self.schemas[op]
            if self.destroyed or op in self.composites:
                return  # PyTorch leaves the definition of what it refuses
            mutated = {"(Tensor(a!) x)": ["x"], ", *, Tensor(a!) out)": ["out"]}
            mutates: list[str] = next((v for k, v in mutated.items() if k in schema), [])
            var = f"c{len(self.customs)}"
            # Without a tensor that tells the device, PyTorch leaves a definition without kernels;
            # of several device types all get what is registered for the last.
            types = self.choice((None, None, "cpu")) if "Tensor" in schema.split("->")[0] else None
            self.customs.append((var, op, schema))
            kernel = self.kernel(op, falls=False)
            self.add(
                "custom_op",
                var=var,
                op=op,
                kernel=kernel,
                mutates=mutates,
                types=types,
                schema=schema,
            )
            return
        var, op, _schema = self.choice(self.customs)
        what = self.choice((
            *("custom kernel", "custom fake", "custom autograd", "custom vmap", "custom destroy"),
        ))  # fmt: skip
        if what == "custom destroy":
            self.forgotten.add(op)
        if what == "custom vmap" and op in self.composites:
            return
        self.kernels += 1
        self.add(
            what,
            var=var,
            types=self.choice(("cpu", None, "cuda")),
            kernel=self.kernel(op, falls=False),
            name=f"k{self.kernels}",
            op=op,
        )

    def call(self, op: str | None = None) -> None:
        op = op or self.op()
        if self.destroyed and any(".other" in line(step) for step in self.program):
            return  # PyTorch crashes where another overload has been there
        args = list(self.choice(SCHEMAS[self.schemas[op]][1]))
        # PyTorch stays in the state of a call whose message prints a tensor that is no argument.
        if self.schemas[op].startswith(("(Tensor x", "(Tensor(", "(Tensor?")) and self.chance(0.15):
            args[0] = self.choice(("inference", "5", "meta", "half", "wrapper"))
            if self.destroyed and args[0] == "wrapper":
                args[0] = "half"
            if args[0] == "meta" and "out=cpu" in args:  # a fake that returns out= is refused
                args[1] = "out=meta"
        state = self.choice(STATES)
        if self.destroyed and state == "mode":  # PyTorch runs kernels that are there no more
            state = "plain"
        backward = "grad" in args and state in ("plain", "autocast", "mode") and self.chance(0.5)
        options = ", backward=True" if backward else ""
        customs = [var for var, name, _ in self.customs if name == op]
        if customs and self.chance(0.5):
            self.add(
                "call custom", var=self.choice(customs), args=args, state=state, options=options
            )
            return
        target = f"{op}.default" if self.chance(0.3) else op
        self.add("call", target=target, args=args, state=state, options=options)

    def look(self) -> None:
        key = self.choice(OFTEN[:11]) if self.chance(0.6) else self.choice(SELDOM[:10])
        what = self.choice(LOOKS)
        if self.destroyed and any(step[0] == "register_vmap" for step in self.program):
            return  # what is a kernel in PyTorch is left of an operator
        if not key or (what == "has any" and key in ALIASES):
            key = "CPU"
        self.add(what, op=self.op(), key=key)

    def destroy(self) -> None:
        if self.libraries:
            self.destroyed = True
            gone = self.choice(self.libraries)
            self.libraries.remove(gone)
            self.add("destroy", var=gone)
            if self.chance(0.3):
                self.add("impl", var=gone, op="f", kernel=self.kernel("f"), key="CPU", options="")


def random_program(seed: int) -> Program:
    """Return the program of a seed: the same one on every machine."""
    g = Generator(seed)
    kinds = ("define", "impl", "function", "custom", "fallback", "call", "look", "destroy")
    weights = (
        (6, 40, 16, 0, 2, 24, 14, 3),
        (6, 25, 12, 20, 2, 24, 12, 3),
        (2, 4, 4, 40, 1, 30, 14, 1),
    )[g.choice((0, 0, 1, 2))]
    if weights[3] < 30 and g.chance(0.85):
        g.define("f")
    for kind in g.random.choices(kinds, weights, k=g.random.randint(4, 14)):
        getattr(g, kind)()
    for _ in range(g.random.randint(1, 4)):
        g.call("f")
    return g.program
