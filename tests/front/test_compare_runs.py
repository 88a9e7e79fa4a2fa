"""`compare_runs` names the call at which two runs of a program part, and no other one."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

import dovetail
from dovetail import nn
from dovetail.library import Library
from dovetail.nn import functional as F

DEVICE = dovetail.get_default_device()
KEY = dovetail.explain(dovetail.ops.aten.exp, dovetail.ones(2)).chain[-1].key
"""The dispatch key of the kernels of the device that the tests run on."""


def spoilt(value: Any) -> Any:
    """Return a result that is wrong by one percent in its last element."""
    if isinstance(value, list | tuple):
        first, *others = value
        return (spoilt(first), *others)
    made = value.detach().clone()
    flat = made.view(-1)
    flat[-1] = flat[-1] * 1.01 + 0.01
    return made


def planted(name: str) -> Callable[[], AbstractContextManager[None]]:
    """Return what puts a wrong kernel before that of an operator for a block."""

    @contextmanager
    def within() -> Iterator[None]:
        base, _, overload = name.partition(".")
        op = getattr(getattr(dovetail.ops.aten, base), overload or "default")
        is_inside = False

        def wrong(*args: Any, **kwargs: Any) -> Any:
            nonlocal is_inside
            is_inside = True
            try:
                return spoilt(op(*args, **kwargs))
            finally:
                is_inside = False

        library = Library("aten", "IMPL")
        library.impl(name, wrong, KEY, when=lambda *_, **__: not is_inside, why="planted")
        try:
            yield
        finally:
            library._destroy()

    return within


def convolution(x: Any) -> Any:
    return F.conv2d(x.reshape(1, 2, 4, 4), x[:4, :4].reshape(2, 2, 2, 2).clone())


def image(x: Any) -> Any:
    return x.reshape(1, 2, 4, 4)


CASES: dict[str, Callable[[Any], Any]] = {
    "exp": lambda x: x.exp(),
    "sin": lambda x: x.sin(),
    "tanh": lambda x: x.tanh(),
    "sigmoid": lambda x: x.sigmoid(),
    "relu": lambda x: x.relu(),
    "gelu": F.gelu,
    "silu": F.silu,
    "leaky_relu": F.leaky_relu,
    "elu": F.elu,
    "softplus": F.softplus,
    "add.Tensor": lambda x: x + x.roll(1),
    "mul.Tensor": lambda x: x * x.roll(1),
    "div.Tensor": lambda x: x / (x.roll(1) + 5),
    "pow.Tensor_Scalar": lambda x: x**3,
    "mm": lambda x: x @ x.t(),
    "bmm": lambda x: x.reshape(2, 4, 4).bmm(x.reshape(2, 4, 4)),
    "addmm": lambda x: dovetail.addmm(x[:, :4], x, x.t()[:, :4]),
    "sum.dim_IntList": lambda x: x.sum(1),
    "mean.dim": lambda x: x.mean(0),
    "amax": lambda x: x.amax(1),
    "var.correction": lambda x: x.var(1),
    "cumsum": lambda x: x.cumsum(0),
    "_softmax": lambda x: x.softmax(1),
    "_log_softmax": lambda x: x.log_softmax(1),
    "native_layer_norm": lambda x: F.layer_norm(x, (8,)),
    "convolution": convolution,
    "max_pool2d_with_indices": lambda x: F.max_pool2d(image(x), 2),
    "index_select": lambda x: x.index_select(0, dovetail.tensor([2, 0])),
    "gather": lambda x: x.gather(1, dovetail.tensor([[1, 0], [3, 2]])),
    "where.self": lambda x: dovetail.where(x > 0, x, x * 2),
    # Derivatives.
    "tanh_backward": lambda x: x.tanh(),
    "sigmoid_backward": lambda x: x.sigmoid(),
    "threshold_backward": lambda x: x.relu(),
    "gelu_backward": F.gelu,
    "silu_backward": F.silu,
    "leaky_relu_backward": F.leaky_relu,
    "elu_backward": F.elu,
    "softplus_backward": F.softplus,
    "hardtanh_backward": F.hardtanh,
    "hardswish_backward": F.hardswish,
    "log_sigmoid_backward": F.logsigmoid,
    "softshrink_backward": F.softshrink,
    "mse_loss_backward": lambda x: F.mse_loss(x, x.roll(1).detach()),
    "smooth_l1_loss_backward": lambda x: F.smooth_l1_loss(x, x.roll(1).detach()),
    "glu_backward": F.glu,
    "nll_loss_backward": lambda x: F.nll_loss(x.log_softmax(1), dovetail.tensor([0, 1, 2, 3])),
    "_softmax_backward_data": lambda x: x.softmax(1),
    "_log_softmax_backward_data": lambda x: x.log_softmax(1),
    "native_layer_norm_backward": lambda x: F.layer_norm(x, (8,)),
    "native_group_norm_backward": lambda x: F.group_norm(image(x), 2),
    "native_batch_norm_backward": lambda x: F.batch_norm(x, None, None, training=True),
    "convolution_backward": convolution,
    "max_pool2d_with_indices_backward": lambda x: F.max_pool2d(image(x), 2),
    "avg_pool2d_backward": lambda x: F.avg_pool2d(image(x), 2),
    "_adaptive_avg_pool2d_backward": lambda x: F.adaptive_avg_pool2d(image(x), 2),
    "upsample_nearest2d_backward": lambda x: F.interpolate(image(x), scale_factor=2),
    "upsample_bilinear2d_backward": lambda x: F.interpolate(
        image(x), scale_factor=2, mode="bilinear"
    ),
    "embedding_dense_backward": lambda x: F.embedding(dovetail.tensor([1, 3, 1]), x),
    "slice_backward": lambda x: x[1:3],
    "select_backward": lambda x: x[1],
}
"""A program for each operator in which a wrong kernel is planted."""


def program(middle: Callable[[Any], Any], x: Any) -> Any:
    """Return a scalar that is computed in several steps, of which `middle` is one."""
    before = x * 0.5 + x.cos() * 0.1
    return (middle(before).cos() * 0.7).sum()


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_kernel_is_named(name: str) -> None:
    dovetail.manual_seed(1)
    x = dovetail.randn(4, 8, requires_grad=True)
    comparison = dovetail.compare_runs(program, (CASES[name], x), second={"within": planted(name)})
    parting = comparison.parting
    assert parting is not None, str(comparison)
    assert (parting.name, parting.node is not None) == (f"aten::{name}", "_backward" in name)
    assert "planted" in str(comparison) and Path(__file__).name in str(comparison)
    assert f"dovetail.ops.aten.{name.partition('.')[0]}." in (comparison.program or "")


def test_runs_without_difference_agree() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.GELU(), nn.Dropout(0.5))
    comparison = dovetail.compare_runs(model, (dovetail.randn(3, 8),))
    assert comparison and comparison.agree and comparison.compared > 10
    assert "agree" in str(comparison)


def test_what_a_call_overwrites_makes_no_difference_small(tmp_path: Path) -> None:
    """It may be memory that was never written to, with any numbers."""

    def overwritten(x: Any) -> Any:
        out = dovetail.full((8,), 1e30)
        out[0] = float("nan")
        return dovetail.exp(x, out=out)

    def wrong(x: Any, *, out: Any) -> Any:
        return out.copy_(spoilt(x.exp()))

    @contextmanager
    def within() -> Iterator[None]:
        library = Library("aten", "IMPL")
        library.impl("exp.out", wrong, KEY, when=lambda *_, **__: True, why="planted")
        try:
            yield
        finally:
            library._destroy()

    x = dovetail.linspace(0, 1, 8)
    before = saved(tmp_path / "before.json", overwritten, x)
    with within():
        after = saved(tmp_path / "after.json", overwritten, x)
    for comparison in (
        dovetail.compare_runs(overwritten, (x,), second={"within": within}),
        dovetail.compare_runs(first=before, second=after),
    ):
        assert comparison.parting is not None and comparison.parting.name == "aten::exp.out"


def test_rounding_that_adds_up_is_no_difference_of_a_call() -> None:
    def iterate(x: Any) -> Any:
        for _ in range(60):
            x = 3.9 * x * (1 - x)  # doubles an error at each step
        return x

    x = dovetail.tensor([0.3, 0.4], dtype=dovetail.float64)
    comparison = dovetail.compare_runs(
        iterate, (x,), first=dovetail.float32, second=dovetail.float64
    )
    assert comparison.parting is None and not comparison.agree
    assert any(["aten::" in note for note in comparison.notes])


def test_a_wrong_kernel_is_named_after_rounding_has_grown() -> None:
    def iterate(x: Any) -> Any:
        for _ in range(40):
            x = 3.9 * x * (1 - x)
        return x.exp() * 2

    comparison = dovetail.compare_runs(
        iterate,
        (dovetail.tensor([0.3, 0.4]),),
        first=dovetail.float64,
        second={"dtype": dovetail.float32, "within": planted("exp")},
    )
    assert comparison.parting is not None and comparison.parting.name == "aten::exp"


@pytest.mark.parametrize(
    "transformed",
    [
        dovetail.vmap(lambda row: (row * 0.5).exp().sin()),
        dovetail.func.grad(lambda y: (y * 0.5).exp().sin().sum()),
        lambda x: dovetail.func.jvp(lambda y: (y * 0.5).exp().sin(), (x,), (x,))[1],
    ],
)
def test_a_wrong_kernel_is_named_inside_of_a_transform(transformed: Any) -> None:
    x = dovetail.linspace(-1, 1, 6).reshape(2, 3)
    comparison = dovetail.compare_runs(transformed, (x,), second={"within": planted("exp")})
    assert comparison.parting is not None, str(comparison)
    assert comparison.parting.name == "aten::exp"


def test_a_wrong_kernel_is_named_inside_of_a_part_with_a_name(tmp_path: Path) -> None:
    def named(x: Any) -> Any:
        with dovetail.profiler.record_function("outer"), dovetail.profiler.record_function("inner"):
            return (x * 0.5).exp().sin()

    x = dovetail.linspace(-1, 1, 6)
    live = dovetail.compare_runs(named, (x,), second={"within": planted("exp")})
    before = saved(tmp_path / "before.json", named, x)
    with planted("exp")():
        after = saved(tmp_path / "after.json", named, x)
    for comparison in (live, dovetail.compare_runs(first=before, second=after)):
        assert comparison.parting is not None, str(comparison)
        assert comparison.parting.name == "aten::exp"
    assert dovetail.compare_runs(named, (x,))


def test_complex_numbers_on_the_real_line_are_compared_with_others(tmp_path: Path) -> None:
    real = dovetail.linspace(1, 2, 6, dtype=dovetail.float64)
    on_the_line, beside_it, off_it = [
        saved(tmp_path / f"{name}.json", dovetail.exp, dovetail.complex(real, real * shift))
        for name, shift in {"on": 0.0, "beside": 1e-15, "off": 0.5}.items()
    ]
    assert dovetail.compare_runs(first=on_the_line, second=beside_it)
    assert not dovetail.compare_runs(first=on_the_line, second=off_it)


def test_the_arguments_and_the_model_stay_as_they_are() -> None:
    model = nn.BatchNorm1d(4)
    x = dovetail.randn(5, 4, requires_grad=True)
    before = [each.clone() for each in model.state_dict().values()]
    dovetail.compare_runs(model, (x,), second=dovetail.float64)
    assert all([a.equal(b) for a, b in zip(before, model.state_dict().values(), strict=True)])
    assert x.grad is None and model.weight.grad is None
    assert dovetail.get_default_dtype() is dovetail.float32


def test_a_wrong_derivative_of_a_function_is_named() -> None:
    factor = 2.0

    class Double(dovetail.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * factor

    @contextmanager
    def wrong() -> Iterator[None]:
        nonlocal factor
        factor = 3.0
        try:
            yield
        finally:
            factor = 2.0

    x = dovetail.ones(3, requires_grad=True)
    comparison = dovetail.compare_runs(
        lambda x: Double.apply(x).sin(), (x,), second={"within": wrong}
    )
    assert comparison.parting is not None
    assert comparison.parting.node == "DoubleBackward"
    assert comparison.parting.text == "other is 2.0 and 3.0"


def test_conditions_are_switched_off_and_on_again() -> None:
    library = Library("aten", "IMPL")
    op = dovetail.ops.aten.cos.default
    library.array_impl("cos", lambda x: x + 3, KEY, when=lambda x: x.size == 2, why="a pair")
    try:
        x = dovetail.zeros(2)
        comparison = dovetail.compare_runs(op, (x,), second={"conditions": False})
        assert comparison.parting is not None and comparison.parting.name == "aten::cos"
        assert "a pair" in str(comparison)
        assert op(x).tolist() == [3.0, 3.0]
    finally:
        library._destroy()


def test_a_call_that_raises_in_one_run_is_named() -> None:
    library = Library("aten", "IMPL")

    def refuse(x: Any) -> Any:
        raise RuntimeError("not today")

    library.array_impl("cos", refuse, KEY, when=lambda x: True, why="always")
    try:
        comparison = dovetail.compare_runs(
            lambda x: x.sin().cos(), (dovetail.ones(3),), second={"conditions": False}
        )
    finally:
        library._destroy()
    assert comparison.parting is not None and comparison.parting.name == "aten::cos"
    assert "not today" in comparison.parting.text


def test_the_program_that_is_printed_shows_the_difference(tmp_path: Path) -> None:
    module = tmp_path / "wrong_kernels.py"
    module.write_text(
        "import dovetail\n"
        "library = dovetail.library.Library('aten', 'IMPL')\n"
        f"library.array_impl('cos', lambda x: x, {KEY!r}, when=lambda x: True, why='always')\n"
    )
    sys.path.insert(0, str(tmp_path))
    try:
        import wrong_kernels  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(tmp_path))
    try:
        x = dovetail.randn(20, 10).t()[::2]
        comparison = dovetail.compare_runs(lambda x: x.cos(), (x,), second={"conditions": False})
    finally:
        wrong_kernels.library._destroy()
    assert comparison.program is not None
    if DEVICE.type != "cpu":
        return
    program = tmp_path / "alone.py"
    program.write_text(f"import wrong_kernels\n{comparison.program}\n")
    done = printed(program)
    assert "part in forward, at aten::cos" in done.stdout, done.stderr
    assert comparison.parting is not None and comparison.parting.text in done.stdout


def test_the_program_that_is_printed_spells_infinities(capsys: pytest.CaptureFixture[str]) -> None:
    library = Library("aten", "IMPL")
    library.array_impl(
        "sub.Tensor", lambda x, y, alpha: x, KEY, when=lambda *_, **__: True, why="always"
    )
    try:
        x = dovetail.tensor([1.0, complex(dovetail.nan, -dovetail.inf)])
        comparison = dovetail.compare_runs(
            dovetail.sub, (x, x + 1), {"alpha": 2.5}, second={"conditions": False}
        )
        assert comparison.program is not None
        exec(comparison.program, {})
    finally:
        library._destroy()
    assert "part in forward, at aten::sub.Tensor" in capsys.readouterr().out


def saved(path: Path, f: Callable[..., Any], *args: Any) -> Path:
    with dovetail.tracing(hashes=True) as trace:
        f(*args)
    trace.export_json(path)
    return path


def step(x: Any) -> Any:
    y = (x * 0.5).tanh().exp().sum()
    y.backward()
    return y


@pytest.mark.parametrize("name", ["tanh", "exp", "tanh_backward", "sum"])
def test_saved_traces_are_compared(tmp_path: Path, name: str) -> None:
    x = dovetail.linspace(-1, 1, 12, requires_grad=True)
    before = saved(tmp_path / "before.json", step, x)
    again = saved(tmp_path / "again.json", step, x.detach().requires_grad_())
    with planted(name)():
        after = saved(tmp_path / "after.json", step, x.detach().requires_grad_())
    assert dovetail.compare_runs(first=before, second=again)
    comparison = dovetail.compare_runs(first=before, second=after)
    assert comparison.parting is not None and comparison.parting.name == f"aten::{name}"
    assert "planted" in str(comparison)
    live = dovetail.compare_runs(
        step, (x.detach().requires_grad_(),), first=before, second={"within": planted(name)}
    )
    assert live.parting is not None and live.parting.name == f"aten::{name}"


def test_saved_traces_of_transforms_are_compared(tmp_path: Path) -> None:
    def transformed(x: Any) -> Any:
        return dovetail.vmap(lambda row: (row * 0.5).exp().sin())(x)

    x = dovetail.linspace(-1, 1, 6).reshape(2, 3)
    before = saved(tmp_path / "before.json", transformed, x)
    with planted("exp")():
        after = saved(tmp_path / "after.json", transformed, x)
    parting = dovetail.compare_runs(first=before, second=after).parting
    assert parting is not None and parting.name == "aten::exp"


def test_the_command_compares_saved_traces(tmp_path: Path) -> None:
    x = dovetail.linspace(-1, 1, 12, requires_grad=True)
    before = saved(tmp_path / "before.json", step, x)
    with planted("exp")():
        after = saved(tmp_path / "after.json", step, x.detach().requires_grad_())
    statuses = []
    for first, second in ((before, before), (before, after)):
        done = subprocess.run(
            [sys.executable, "-m", "dovetail", "compare", str(first), str(second)],
            capture_output=True,
            text=True,
            check=False,
        )
        statuses.append(done.returncode)
    assert statuses == [0, 1]
    assert "at aten::exp" in done.stdout


def test_a_trace_without_hashes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plain.json"
    with dovetail.tracing() as trace:
        dovetail.ones(2)
    trace.export_json(path)
    with pytest.raises(ValueError, match=r"hashes=True"):
        dovetail.compare_runs(first=path, second=path)
    path.write_text("[]")
    with pytest.raises(ValueError, match="spans"):
        dovetail.compare_runs(first=path, second=path)


@pytest.mark.parametrize("setting", [{"devices": "cpu"}, 3])
def test_other_configurations_are_refused(setting: Any) -> None:
    with pytest.raises(TypeError, match="second"):
        dovetail.compare_runs(step, (dovetail.ones(2),), second=setting)


ELSEWHERE = pytest.mark.cpu_only(reason="compiled code is for the CPU")
NATIVE = {"first": {"native": False}, "second": {"native": True}}


@ELSEWHERE
def test_compiled_code_and_python_agree_in_processes_of_their_own() -> None:
    x = dovetail.randn(6, 8, requires_grad=True)
    comparison = dovetail.compare_runs(F.gelu, (x,), **NATIVE)
    assert comparison, str(comparison)


@ELSEWHERE
@pytest.mark.parametrize("f", [lambda x: x, dovetail.ops.aten.cos.default])
def test_what_cannot_be_sent_to_another_process_is_refused(f: Any) -> None:
    with pytest.raises(TypeError, match="function of a module"):
        dovetail.compare_runs(f, (dovetail.ones(2),), second={"native": False})


def printed(program: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=False, timeout=300
    )


@ELSEWHERE
def test_a_script_without_a_main_guard_is_told_so(tmp_path: Path) -> None:
    program = tmp_path / "unguarded.py"
    program.write_text(
        "import dovetail\n"
        "dovetail.compare_runs(dovetail.exp, (dovetail.ones(2),), second={'native': False})\n"
    )
    last = printed(program).stderr.splitlines()[-1]
    assert last.startswith("RuntimeError: compare_runs()") and "__main__" in last


@ELSEWHERE
def test_a_process_that_ends_is_an_error_and_no_wait() -> None:
    with pytest.raises(RuntimeError, match="ended before"):
        dovetail.compare_runs(os._exit, (3,), first={"native": False}, second={"native": False})


@ELSEWHERE
def test_the_program_that_is_printed_runs_in_processes_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wrong_in_compiled_code.py").write_text(
        "import os\n"
        "import dovetail\n"
        "if os.environ.get('DOVETAIL_NATIVE') == '1':\n"
        "    library = dovetail.library.Library('aten', 'IMPL')\n"
        "    library.array_impl('cos', lambda x: x, 'CPU', when=lambda x: True, why='always')\n"
        "def program(x):\n"
        "    return dovetail.cos(x)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("DOVETAIL_NATIVE", raising=False)
    module = importlib.import_module("wrong_in_compiled_code")
    comparison = dovetail.compare_runs(module.program, (dovetail.linspace(1, 2, 200),), **NATIVE)
    assert comparison.parting is not None and comparison.program is not None
    program = tmp_path / "alone.py"
    program.write_text(f"import wrong_in_compiled_code\n{comparison.program}\n")
    done = printed(program)
    assert "part in forward, at aten::cos" in done.stdout, done.stderr
