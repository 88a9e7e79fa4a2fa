"""`amp.GradScaler` on the CPU beside PyTorch's: scales, steps, state dicts, pickles and errors."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import pytest
import torch
from devices import cpu_only_where

import dovetail

BOTH = (torch, dovetail)


def made(t: Any, **options: Any) -> tuple[Any, Any, Any]:
    """Return a parameter, its optimizer and a scaler."""
    parameter = t.nn.Parameter(t.ones(2))
    return parameter, t.optim.SGD([parameter], lr=0.1), t.amp.GradScaler("cpu", **options)


def test_scales_and_steps_agree() -> None:
    runs = []
    for t in BOTH:
        parameter, optimizer, scaler = made(t, growth_interval=2, init_scale=8.0)
        seen: list[Any] = []
        for step in range(9):
            optimizer.zero_grad()
            factor = float("inf") if step in (3, 4) else 1.0
            scaler.scale((parameter * parameter * factor).sum()).backward()
            if step % 2:
                scaler.unscale_(optimizer)
                t.nn.utils.clip_grad_norm_([parameter], 0.5)
            scaler.step(optimizer)
            scaler.update()
            seen += [
                scaler.state_dict(),
                scaler.get_scale(),
                [round(each, 5) for each in parameter.tolist()],
            ]
        restored = pickle.loads(pickle.dumps(scaler))
        seen.append(restored.state_dict())
        other = t.amp.GradScaler("cpu")
        other.load_state_dict(scaler.state_dict())
        seen.append(other.state_dict())
        runs.append(seen)
    assert runs[1] == runs[0]


def backward(t: Any, p: Any, o: Any, s: Any) -> None:
    s.scale(p.sum()).backward()


def half(t: Any, p: Any, o: Any, s: Any) -> None:
    q = t.nn.Parameter(t.ones(2, dtype=t.float16))
    s.scale(q.sum()).backward()
    s.unscale_(t.optim.SGD([q]))


WRONG = {
    "growth": lambda t, p, o, s: t.amp.GradScaler("cpu", growth_factor=1.0),
    "backoff": lambda t, p, o, s: t.amp.GradScaler("cpu", backoff_factor=1.0),
    "step before scale": lambda t, p, o, s: s.step(o),
    "update before scale": lambda t, p, o, s: s.update(),
    "unscale before scale": lambda t, p, o, s: s.unscale_(o),
    "unscaled twice": lambda t, p, o, s: (backward(t, p, o, s), s.unscale_(o), s.unscale_(o)),
    "two steps": lambda t, p, o, s: (backward(t, p, o, s), s.step(o), s.step(o)),
    "unscaled late": lambda t, p, o, s: (backward(t, p, o, s), s.step(o), s.unscale_(o)),
    "pickle": lambda t, p, o, s: (backward(t, p, o, s), s.step(o), pickle.dumps(s)),
    "update without step": lambda t, p, o, s: (backward(t, p, o, s), s.update()),
    "no gradients": lambda t, p, o, s: (s.scale(p.sum()), s.step(o)),
    "closure": lambda t, p, o, s: (backward(t, p, o, s), s.step(o, closure=lambda: 1)),
    "outputs": lambda t, p, o, s: s.scale(3),
    "empty state": lambda t, p, o, s: s.load_state_dict({}),
    "half precision": half,
    "device type": lambda t, p, o, s: t.amp.custom_fwd(len, device_type=3),
    "device type of backward": lambda t, p, o, s: t.amp.custom_bwd(len, device_type=3),
    "no CUDA": lambda t, p, o, s: t.amp.GradScaler(),
    "old scaler": lambda t, p, o, s: t.cpu.amp.GradScaler(),
    "old scaler of CUDA": lambda t, p, o, s: t.cuda.amp.GradScaler(),
    "old autocast": lambda t, p, o, s: t.cpu.amp.autocast(),
    "old autocast of CUDA": lambda t, p, o, s: t.cuda.amp.autocast(),
    "old forward": lambda t, p, o, s: t.cuda.amp.custom_fwd(len),
    "old backward": lambda t, p, o, s: t.cuda.amp.custom_bwd(len),
}


@pytest.mark.parametrize(
    "name", cpu_only_where(WRONG, lambda each: each == "no CUDA", "says that there is no CUDA")
)
def test_what_is_wrong_is_refused_or_warned_of_alike(name: str) -> None:
    raised = []
    for t in BOTH:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(Exception) as info:
                WRONG[name](t, *made(t))
        raised.append(info.value)
    wanted, found = raised
    assert type(found) is type(wanted)
    words = str(wanted).replace("torch.cuda.amp.GradScaler is", "GradScaler is").rstrip(".")
    assert words.replace("torch.", "dovetail.") in str(found)


def test_nested_outputs_are_scaled_alike() -> None:
    for t in BOTH:
        parameter, _, scaler = made(t, init_scale=4.0)
        scaled = scaler.scale([parameter, (parameter, [parameter])])
        assert scaled[1][1][0].tolist() == [4.0, 4.0]
        assert type(scaled[1]) is tuple
        assert [each.tolist() for each in scaler.scale(iter([parameter]))] == [[4.0, 4.0]]


def test_a_scale_that_is_given_is_taken_alike() -> None:
    for t in BOTH:
        parameter, _, scaler = made(t)
        scaler.scale(parameter)
        scaler.update(2.0)
        assert scaler.get_scale() == 2.0
        scaler.update(t.tensor(3.0))
        assert scaler.get_scale() == 3.0
        with pytest.raises(AssertionError, match="new_scale should be a float or a 1-element"):
            scaler.update(t.ones(2))


def test_a_disabled_scaler_does_nothing_alike() -> None:
    for t in BOTH:
        parameter, optimizer, scaler = made(t, enabled=False)
        scaler.scale(parameter.sum()).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        assert parameter.tolist() == pytest.approx([0.9, 0.9])
        assert (scaler.get_scale(), scaler.is_enabled(), scaler.state_dict()) == (1.0, False, {})


@pytest.mark.cpu_only(reason="the autocast of the cpu")
def test_functions_run_with_the_autocast_of_their_forward_alike() -> None:
    assert dtypes_inside_functions(dovetail) == dtypes_inside_functions(torch)


def dtypes_inside_functions(t: Any) -> list[str]:
    """Return the dtypes of products inside functions that know of autocast, and of what they
    return.
    """
    seen: list[Any] = []

    class Product(t.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        @t.amp.custom_fwd(device_type="cpu")
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x @ x

        @staticmethod
        @t.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            seen.append((x @ x).dtype)
            return grad.float() @ x.float()

    class Cast(t.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        @t.amp.custom_fwd(device_type="cpu", cast_inputs=t.float32)
        def forward(ctx, x, more):
            seen.append((x @ more[0]).dtype)
            return x @ more[0]

        @staticmethod
        @t.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            return grad, None

    x = t.ones(2, 2, requires_grad=True)
    with t.autocast("cpu"):
        y = Product.apply(x)
        z = Cast.apply(t.ones(2, 2, dtype=t.bfloat16), [t.ones(2, 2, dtype=t.bfloat16)])
    y.float().sum().backward()
    return [str(each).rpartition(".")[2] for each in (*seen, y.dtype, z.dtype)]
