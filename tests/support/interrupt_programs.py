"""The programs that are interrupted at every instant: each enters, leaves or changes something."""

from __future__ import annotations

import gc
import io
from collections.abc import Callable
from typing import Any

from devices import own_key

import dovetail as dt
from dovetail import func
from dovetail.amp.autocast_mode import autocast_decorator
from dovetail.autograd import Function, forward_ad, graph
from dovetail.func import functionalize
from dovetail.library import Library, _scoped_library, custom_op
from dovetail.overrides import TorchFunctionMode
from dovetail.utils import checkpoint as checkpoints
from dovetail.utils._python_dispatch import TorchDispatchMode
from dovetail_dispatcher import transaction
from dovetail_kernel import DispatchKey, DispatchKeySet
from dovetail_kernel.keys import state as keys

AT_ONCE = ("set_grad_enabled", "multithreading", "set_detect_anomaly")
"""Guards in force from construction on."""

PROGRAMS: dict[str, Callable[[], Any]] = {}


def program(function: Callable[[], Any]) -> Callable[[], Any]:
    PROGRAMS[function.__name__] = function
    return function


class Passing(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class PassingFunctions(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class Doubled(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 + x * 0


class DoubledWithRule(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 + x * 0


LEAF = dt.ones(2, requires_grad=True)
PLAIN = dt.ones(2)
MATRIX = dt.ones(3, 2)
LEFT: list[Library] = []


def cleanup() -> None:
    while LEFT:
        LEFT.pop()._destroy()
    LEAF.grad = None


def blocks() -> dict[str, Callable[[], Any]]:
    """Context managers, by name: entered around one call, left again."""
    found = {
        "no_grad": dt.no_grad,
        "enable_grad": dt.enable_grad,
        "set_grad_enabled": lambda: dt.set_grad_enabled(False),
        "inference_mode": dt.inference_mode,
        "inference_mode_off": lambda: dt.inference_mode(False),
        "multithreading": lambda: graph_module().set_multithreading_enabled(False),
        "dispatch_mode": Passing,
        "function_mode": PassingFunctions,
        "saved_tensors_hooks": lambda: graph.saved_tensors_hooks(lambda x: x, lambda x: x),
        "save_on_cpu": graph.save_on_cpu,
        "disable_saved_tensors_hooks": lambda: graph.disable_saved_tensors_hooks("no"),
        "allow_mutation": graph.allow_mutation_on_saved_tensors,
        "dual_level": forward_ad.dual_level,
        "autocast": lambda: dt.autocast("cpu"),
        "detect_anomaly": dt.autograd.detect_anomaly,
        "set_detect_anomaly": lambda: dt.autograd.set_detect_anomaly(True),
        "device": lambda: dt.device("cpu"),
        "trace": dt.tracing,
        "early_stop": lambda: checkpoints.set_checkpoint_early_stop(False),
        "checkpoint_debug": lambda: checkpoints.set_checkpoint_debug_enabled(True),
        "fork_rng": dt.random.fork_rng,
        "printoptions": lambda: printoptions(precision=2),
        "scoped_library": lambda: _scoped_library("aten", "IMPL"),
        "transaction": transaction,
        "torch_function_off": keys.DisableTorchFunctionSubclass,
        "torch_function_all_off": keys.DisableTorchFunction,
        "below_autograd": keys.AutoDispatchBelowAutograd,
        "below_views": keys.AutoDispatchBelowADInplaceOrView,
        "exclude": lambda: keys.ExcludeDispatchKeyGuard(DispatchKey.AutogradCPU),
        "include": lambda: keys.IncludeDispatchKeyGuard(DispatchKey.AutogradCPU),
        "force": lambda: keys.ForceDispatchKeyGuard(DispatchKeySet(), DispatchKeySet()),
        "preserve": keys.PreserveDispatchKeyGuard,
    }
    return found


def graph_module() -> Any:
    return dt.autograd


def printoptions(**options: Any) -> Any:
    from dovetail_aten.tensor.printing import printoptions as made

    return made(**options)


def _block(name: str, make: Callable[[], Any]) -> None:
    def run() -> None:
        with make():
            PLAIN + PLAIN

    def again() -> None:
        guard = make()
        with guard:
            PLAIN + PLAIN
        with guard:
            PLAIN + PLAIN

    PROGRAMS[name] = run
    if name not in (
        "early_stop",
        "checkpoint_debug",
        "fork_rng",
        "printoptions",
        "scoped_library",
        "transaction",
    ):
        PROGRAMS[f"{name} twice"] = again


for _name, _make in blocks().items():
    _block(_name, _make)


@program
def decorated_no_grad():
    dt.no_grad()(lambda: PLAIN * 2)()


@program
def decorated_guards():
    for guard in (
        dt.autocast("cpu"),
        graph.disable_saved_tensors_hooks("no"),
        checkpoints.set_checkpoint_early_stop(False),
    ):
        guard(lambda: PLAIN * 2)()
    autocast_decorator(dt.autocast("cpu"), lambda: PLAIN * 2)()


@program
def decorated_generator():
    @dt.no_grad()
    def numbers():
        yield PLAIN * 2
        yield PLAIN * 3

    for _ in numbers():
        pass


@program
def nested_modes():
    with Passing(), dt.no_grad(), PassingFunctions(), Passing():
        dt.nn.functional.relu(PLAIN * 2)


@program
def modes_and_subclasses_call():
    with Passing(), PassingFunctions():
        (LEAF * LEAF).sum().backward()
    LEAF.grad = None


@program
def scoped_override():
    with _scoped_library("aten", "IMPL") as library:
        library.impl("neg", lambda x: x * -1, own_key())
        PLAIN.neg()


@program
def scoped_definition():
    with _scoped_library("interrupted", "DEF") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, own_key())
        library.impl("twice", lambda x: x * 2, "Meta")
        dt.ops.interrupted.twice(PLAIN)


@program
def library_by_hand():
    library = Library("interrupted_by_hand", "FRAGMENT")
    LEFT.append(library)
    library.define("thrice(Tensor x) -> Tensor")
    library.impl("thrice", lambda x: x * 3, "CompositeImplicitAutograd")
    dt.ops.interrupted_by_hand.thrice(LEAF)
    LEFT[-1]._destroy()
    LEFT.pop()


@program
def scoped_fallback():
    with _scoped_library("_", "IMPL") as library:
        library.fallback(lambda op, *args, **kwargs: op(*args, **kwargs), "PrivateUse1")


@custom_op("interrupted_ops::scaled", mutates_args=())
def scaled(x: dt.Tensor, by: float) -> dt.Tensor:
    return dt.empty_like(x).copy_(x) * by


@scaled.register_fake
def _(x, by):
    return dt.empty_like(x)


scaled.register_autograd(
    lambda ctx, grad: (grad * ctx.by, None),
    setup_context=lambda ctx, inputs, output: setattr(ctx, "by", inputs[1]),
)


@scaled.register_kernel("cpu")
def _(x, by):
    return x * by


@program
def custom_operator():
    scaled(LEAF, 2.0).sum().backward()
    scaled(PLAIN.to("meta"), 2.0)
    LEAF.grad = None


@program
def kernel_disabled():
    with scaled.set_kernel_enabled("cpu", False):
        scaled(PLAIN, 2.0)


@program
def backward():
    y = LEAF
    for _ in range(3):
        y = (y * y).exp().log()
    y.sum().backward()
    LEAF.grad = None


@program
def backward_that_creates_a_graph():
    y = (LEAF * LEAF * LEAF).sum()
    (g,) = dt.autograd.grad(y, LEAF, create_graph=True)
    dt.autograd.grad(g.sum(), LEAF)


@program
def backward_of_a_function():
    Doubled.apply(LEAF).sum().backward()
    Doubled.apply(LEAF).backward(PLAIN)
    Doubled.apply(LEAF * 2).backward(PLAIN)
    LEAF.grad = None


@program
def backward_with_hooks():
    y = LEAF * LEAF
    y.register_hook(lambda g: g * 2)
    y.retain_grad()
    y.grad_fn.register_prehook(lambda g: g)
    y.grad_fn.register_hook(lambda a, b: a)
    y.sum().backward()
    LEAF.grad = None


@program
def backward_under_anomaly_mode():
    with dt.autograd.detect_anomaly():
        (LEAF * LEAF).sum().backward()
    LEAF.grad = None


@program
def backward_under_saved_tensors_hooks():
    with graph.saved_tensors_hooks(lambda x: x * 1, lambda x: x * 1):
        (LEAF * LEAF).sum().backward()
    LEAF.grad = None


@program
def nested_backward():
    class Inner(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            with dt.enable_grad():
                z = dt.ones(2, requires_grad=True)
                (z * z).sum().backward()
            return grad

    Inner.apply(LEAF).sum().backward()
    LEAF.grad = None


@program
def traced_backward():
    with dt.tracing():
        (LEAF * LEAF).sum().backward()
    LEAF.grad = None


@program
def transformed_grad():
    func.grad(lambda x: (x * x).sum())(PLAIN)


@program
def transformed_vmap_grad():
    func.vmap(func.grad(lambda x: (x * x).sum()))(MATRIX)


@program
def transformed_jvp():
    func.jvp(lambda x: x.sin() * x, (PLAIN,), (PLAIN,))


@program
def transformed_hessian():
    func.hessian(lambda x: (x * x * x).sum())(PLAIN)


@program
def transformed_jacobians():
    func.jacrev(lambda x: x * x)(PLAIN)
    func.jacfwd(lambda x: x * x)(PLAIN)


@program
def transformed_linearize():
    _, f = func.linearize(lambda x: x.sin(), PLAIN)
    f(PLAIN)


@program
def transformed_vjp():
    _, f = func.vjp(lambda x: x.sin(), PLAIN)
    f(PLAIN)


@program
def transformed_functionalize():
    functionalize(lambda x: x.clone().add_(1))(PLAIN)


@program
def vmap_of_a_function():
    func.vmap(DoubledWithRule.apply)(MATRIX)
    func.vmap(func.grad(lambda x: DoubledWithRule.apply(x).sum()))(MATRIX)


@program
def vmap_with_randomness():
    func.vmap(lambda x: x + dt.rand(2), randomness="different")(MATRIX)


@program
def forward_ad_by_hand():
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(PLAIN, PLAIN)
        forward_ad.unpack_dual(dual * dual)


@program
def functional_jacobian():
    dt.autograd.functional.jacobian(lambda x: x * x, PLAIN)
    dt.autograd.functional.hvp(lambda x: (x * x).sum(), PLAIN, PLAIN)


@program
def checkpointed():
    checkpoints.checkpoint(lambda x: (x * x).exp(), LEAF, use_reentrant=False).sum().backward()
    LEAF.grad = None


@program
def checkpointed_selectively():
    def contexts():
        return checkpoints.create_selective_checkpoint_contexts([dt.ops.aten.exp.default])

    checkpoints.checkpoint(
        lambda x: (x * x).exp(), LEAF, use_reentrant=False, context_fn=contexts
    ).sum().backward()
    LEAF.grad = None


@program
def checkpointed_reentrant():
    checkpoints.checkpoint(lambda x: (x * x).exp(), LEAF, use_reentrant=True).sum().backward()
    LEAF.grad = None


@program
def autocast_backward():
    with dt.autocast("cpu"):
        y = dt.mm(MATRIX, dt.ones(2, 2, requires_grad=True))
    y.sum().backward()


@program
def saving():
    file = io.BytesIO()
    dt.save({"a": PLAIN, "b": [MATRIX]}, file)
    file.seek(0)
    dt.load(file)


@program
def tracing_a_function():
    gc.freeze()  # a trace looks at all other objects: nearly every instant would be there
    try:
        dt.jit.trace(lambda x: x * 2, (PLAIN,), check_trace=False)(PLAIN)
    finally:
        gc.unfreeze()


@program
def checking_an_operator():
    dt.library.opcheck(scaled, (PLAIN, 2.0), test_utils="test_schema")


@program
def functional_call():
    module = dt.nn.Linear(2, 2)
    kept = dict(module.named_parameters())
    func.functional_call(module, {n: p * 2 for n, p in kept.items()}, (MATRIX,))


@program
def view_and_write():
    base = LEAF * 1
    view = base[0]
    view.mul_(2)
    base.sum().backward()
    LEAF.grad = None


@program
def training_step():
    w = dt.ones(2, requires_grad=True)
    optimizer = dt.optim.SGD([w], lr=0.1, momentum=0.9)
    (w * w).sum().backward()
    optimizer.step()


@program
def training_step_with_a_closure():
    w = dt.ones(2, requires_grad=True)

    def closure():
        loss = (w * w).sum()
        loss.backward()
        return loss

    for optimizer in (dt.optim.Adam([w]), dt.optim.Adagrad([w]), dt.optim.RMSprop([w])):
        optimizer.step(closure)


@program
def clipping():
    w = dt.ones(2, requires_grad=True)
    w.grad = dt.ones(2)
    dt.nn.utils.clip_grad_norm_([w], 1.0)
    dt.nn.utils.clip_grad_value_([w], 0.5)


@program
def making_and_moving_modules():
    dt.nn.PReLU().double()
    dt.nn.Embedding(3, 2, padding_idx=0).double()


@program
def loading_a_state():
    module = dt.nn.Linear(2, 2)
    module.load_state_dict(module.state_dict())


@program
def explaining_a_gradient():
    dt.utils.explain_grad(LEAF, output=(LEAF * 0).sum())


@program
def explaining():
    dt.explain(dt.ops.aten.add.Tensor, PLAIN, PLAIN)


@program
def deepcopying():
    import copy

    copy.deepcopy(LEAF)
