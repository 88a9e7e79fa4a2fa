"""Names of the front end that were added late do what PyTorch's do."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
import torch.utils.checkpoint
from cuda_of_pytorch import skip_if_built_with_cuda

import dovetail
import dovetail.utils.checkpoint

BOTH = pytest.mark.parametrize("lib", [torch, dovetail], ids=["torch", "dovetail"])


@pytest.mark.parametrize(
    ("dimension", "scramble", "seed"),
    [(1, False, None), (3, False, None), (5, True, 3), (40, True, 9), (3, True, None)],
)
def test_the_points_of_a_sobol_sequence_are_pytorchs(
    dimension: int, scramble: bool, seed: int | None
) -> None:
    torch.manual_seed(1)
    dovetail.manual_seed(1)
    theirs = torch.quasirandom.SobolEngine(dimension, scramble, seed)
    ours = dovetail.quasirandom.SobolEngine(dimension, scramble, seed)
    for n in (1, 3, 20):
        np.testing.assert_array_equal(ours.draw(n).numpy(), theirs.draw(n).numpy())
    ours.fast_forward(5), theirs.fast_forward(5)
    double = ours.draw(2, dtype=dovetail.float64).numpy()
    np.testing.assert_array_equal(double, theirs.draw(2, dtype=torch.float64).numpy())
    points = ours.reset().draw_base2(3)
    np.testing.assert_array_equal(points.numpy(), theirs.reset().draw_base2(3).numpy())
    assert repr(ours) == repr(theirs)
    assert ours.num_generated == theirs.num_generated
    assert dovetail.rand(2, device="cpu").tolist() == torch.rand(2).tolist()


@BOTH
def test_a_sobol_sequence_refuses_what_it_cannot_draw(lib: Any) -> None:
    engine = lib.quasirandom.SobolEngine
    for dimension in (0, 21202):
        with pytest.raises(ValueError, match=r"dimensionality for SobolEngine is \[1, 21201\]"):
            engine(dimension)
    drawn = engine(2)
    drawn.draw(3)
    with pytest.raises(ValueError, match=r"n=3\+2\*\*3=11"):
        drawn.draw_base2(3)
    with pytest.raises(RuntimeError, match="negative dimension"):
        drawn.draw(-1)
    with pytest.raises(NotImplementedError):
        drawn.draw(2, dtype=lib.int32)
    out = lib.empty(0)
    assert engine(2).draw(3, out=out) is not None
    assert out.tolist() == [[0, 0], [0.5, 0.5], [0.75, 0.25]]


def _twice_multiplied(lib: Any, x: Any, y: Any) -> Any:
    return lib.sigmoid(lib.matmul(lib.matmul(x, y), y)) * y


@BOTH
def test_a_selective_checkpoint_asks_once_and_computes_again_what_it_did_not_keep(lib: Any) -> None:
    checkpoints = lib.utils.checkpoint
    lib.manual_seed(0)
    x, y = (lib.rand(4, 4, requires_grad=True) for _ in range(2))
    asked = []

    def policy(context: Any, operator: Any, *args: Any, **kwargs: Any) -> Any:
        asked.append((context.is_recompute, str(operator)))
        kept = operator == lib.ops.aten.mm.default
        policies = checkpoints.CheckpointPolicy
        return policies.MUST_SAVE if kept else policies.PREFER_RECOMPUTE

    contexts = partial(checkpoints.create_selective_checkpoint_contexts, policy)
    f = partial(_twice_multiplied, lib)
    checkpoints.checkpoint(f, x, y, use_reentrant=False, context_fn=contexts).sum().backward()
    found = x.grad.clone(), y.grad.clone()
    x.grad = y.grad = None
    f(x, y).sum().backward()
    assert lib.equal(found[0], x.grad)
    assert lib.equal(found[1], y.grad)
    names = ["aten.mm.default"] * 2 + ["aten.sigmoid.default", "aten.mul.Tensor"]
    assert asked == [(False, name) for name in names]


@BOTH
def test_what_a_selective_checkpoint_kept_is_not_computed_again(lib: Any) -> None:
    checkpoints = lib.utils.checkpoint
    x, y = (lib.rand(4, 4, requires_grad=True) for _ in range(2))
    times = []

    class Counted(lib.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc, name-defined]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            times.append(str(func))
            return func(*args, **(kwargs or {}))

    operators = [lib.ops.aten.mm.default]
    contexts = partial(checkpoints.create_selective_checkpoint_contexts, operators)
    f = partial(_twice_multiplied, lib)
    out = checkpoints.checkpoint(f, x, y, use_reentrant=False, context_fn=contexts)
    with Counted():
        out.sum().backward()
    # Both gradients of both products, none of the products themselves.
    assert times.count("aten.mm.default") == 4
    assert times.count("aten.sigmoid.default") == 1


@BOTH
def test_a_selective_checkpoint_says_when_what_it_kept_was_written(lib: Any) -> None:
    checkpoints = lib.utils.checkpoint
    x, y = (lib.rand(4, 4, requires_grad=True) for _ in range(2))

    def f(x: Any, y: Any) -> Any:
        product = lib.mm(x, y)
        result = product.sin()
        product.detach().mul_(2)
        return result.cos()

    def run(**options: Any) -> None:
        operators = [lib.ops.aten.mm.default]
        contexts = partial(checkpoints.create_selective_checkpoint_contexts, operators, **options)
        out = checkpoints.checkpoint(f, x, y, use_reentrant=False, context_fn=contexts)
        out.sum().backward()

    with pytest.raises(
        RuntimeError, match="cached during selective activation checkpoint has been"
    ):
        run()
    run(allow_cache_entry_mutation=True)


@BOTH
def test_a_selective_checkpoint_goes_backward_once(lib: Any) -> None:
    checkpoints = lib.utils.checkpoint
    x, y = (lib.rand(4, 4, requires_grad=True) for _ in range(2))
    operators = [lib.ops.aten.mm.default]
    contexts = partial(checkpoints.create_selective_checkpoint_contexts, operators)
    f = partial(_twice_multiplied, lib)
    out = checkpoints.checkpoint(f, x, y, use_reentrant=False, context_fn=contexts)
    out.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="only allowed to backward once"):
        out.sum().backward()


@BOTH
@pytest.mark.parametrize("wrong", [3, ["mm"]])
def test_a_selective_checkpoint_wants_a_policy_or_operators(lib: Any, wrong: Any) -> None:
    kind = TypeError if wrong == 3 else ValueError
    with pytest.raises(kind, match=r"a function or a list of ops|to be an OpOverload"):
        lib.utils.checkpoint.create_selective_checkpoint_contexts(wrong)


@BOTH
def test_the_order_of_dimensions_is_that_of_memory(lib: Any) -> None:
    assert lib.empty(()).dim_order() == ()
    assert lib.empty(2, 3, 4).dim_order() == (0, 1, 2)
    assert lib.empty(2, 3, 4).permute(2, 0, 1).dim_order(ambiguity_check=True) == (1, 2, 0)
    last = lib.empty(2, 3, 4, 5).contiguous(memory_format=lib.channels_last)
    assert last.dim_order() == (0, 2, 3, 1)
    for tensor in (lib.empty(3, 1), lib.empty(2, 1, 4), lib.empty(3, 1).expand(3, 4)):
        with pytest.raises(RuntimeError, match="does not have unique dim order"):
            tensor.dim_order(ambiguity_check=True)
    for wrong in ("x", [1]):
        with pytest.raises(TypeError, match="must be a bool or a list of memory formats"):
            last.dim_order(ambiguity_check=wrong)
    formats = [lib.contiguous_format, lib.channels_last]
    assert last.dim_order(ambiguity_check=formats) == (0, 2, 3, 1)
    with pytest.raises(RuntimeError, match="cannot map to exact one"):
        lib.empty(2, 3, 1, 1).dim_order(ambiguity_check=formats)


@BOTH
def test_module_load_writes_or_takes_the_other(lib: Any) -> None:
    zeros, ones = lib.zeros(2), lib.ones(2, requires_grad=True)
    assert zeros.module_load(ones).data_ptr() == zeros.data_ptr()
    assert zeros.tolist() == [1, 1]
    taken = lib.zeros(2).module_load(ones, assign=True)
    assert taken.data_ptr() == ones.data_ptr()
    assert not taken.requires_grad


@BOTH
@pytest.mark.cpu_only(reason="a machine with a CUDA device has what is refused here")
@pytest.mark.parametrize(
    "call",
    [
        lambda lib: lib.Stream("cuda"),
        lambda lib: lib.Stream(device="cuda:0"),
        lambda lib: lib.Event("cuda"),
        lambda lib: lib.Generator(device="cuda"),
        lambda lib: lib.accelerator.device_index(0).__enter__(),
        lambda lib: lib.accelerator.synchronize(),
    ],
)
def test_without_a_device_its_streams_and_generators_are_runtime_errors(
    lib: Any, call: Any
) -> None:
    if lib.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(RuntimeError):
        call(lib)


@BOTH
def test_functions_promise_to_stay_as_they_are(lib: Any) -> None:
    def promised() -> None:
        """Stay."""

    decorate = lib.fx._symbolic_trace.compatibility(is_backward_compatible=True)
    assert decorate(promised) is promised


@BOTH
def test_segments_are_reduced_by_both_names(lib: Any) -> None:
    assert lib._segment_reduce is lib.segment_reduce


@BOTH
def test_streams_and_events_of_the_cpu_have_nothing_to_wait_for(lib: Any) -> None:
    stream = lib.Stream("cpu")
    assert stream == lib.Stream("cpu")
    assert stream.device == lib.device("cpu")
    stream.synchronize()
    event = lib.Event("cpu")
    assert event.query()
    event.synchronize()
    with stream as entered:
        assert entered is stream
    cpu = lib.cpu
    cpu.Stream().wait_stream(cpu.current_stream())
    with cpu.stream(cpu.current_stream()):
        assert cpu.Event().query()


@BOTH
def test_without_an_accelerator_there_is_none_to_ask(lib: Any) -> None:
    if lib is torch:
        skip_if_built_with_cuda()
    accelerator = lib.accelerator
    if accelerator.is_available():
        pytest.skip("there is an accelerator")
    with accelerator.device_index(None):
        pass
    assert accelerator.current_accelerator() is None
    assert accelerator.device_count() == 0
    for asked in (
        accelerator.current_stream,
        accelerator.current_device_index,
        accelerator.synchronize,
        accelerator.empty_cache,
        accelerator.memory_allocated,
        accelerator.max_memory_reserved,
        accelerator.memory_stats,
        accelerator.reset_peak_memory_stats,
        accelerator.get_memory_info,
        lambda: accelerator.set_device_index(0),
    ):
        with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is"):
            asked()


def test_points_are_on_the_cpu_whichever_device_is_the_default() -> None:
    want = dovetail.quasirandom.SobolEngine(2, scramble=True, seed=3).draw(4)
    with dovetail.device("meta"):
        got = dovetail.quasirandom.SobolEngine(2, scramble=True, seed=3).draw(4)
    assert got.tolist() == want.tolist()
