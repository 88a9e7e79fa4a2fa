"""Names and habits of PyTorch that packages written for it rely on: metrics, attributions,
probabilistic programs, models of images.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import dovetail
from dovetail import nn
from dovetail.distributions import constraints, kl, kl_divergence, register_kl
from dovetail.distributions.transforms import Transform
from dovetail.nn.parallel.scatter_gather import gather, scatter, scatter_kwargs


def test_whether_calls_are_recorded_is_told() -> None:
    seen = []

    def function(x: dovetail.Tensor) -> dovetail.Tensor:
        seen.append(dovetail._C._get_tracing_state() is not None)
        return x + 1

    function(dovetail.ones(1))
    dovetail.jit.trace(function, dovetail.ones(1), check_trace=False)
    assert seen == [False, True]


def test_whether_a_transform_runs_is_told() -> None:
    seen = []

    def function(x: dovetail.Tensor) -> dovetail.Tensor:
        seen.append(dovetail._C._are_functorch_transforms_active())
        return x.sum()

    function(dovetail.ones(2))
    dovetail.vmap(function)(dovetail.ones(2, 2))
    dovetail.func.grad(function)(dovetail.ones(2))
    assert seen == [False, True, True]


def test_nothing_is_exported() -> None:
    assert not dovetail.onnx.is_in_onnx_export()
    with pytest.raises(NotImplementedError, match=r"cannot be exported\. Save the state_dict"):
        dovetail.onnx.export(nn.Linear(1, 1))  # type: ignore[attr-defined]
    decorator = dovetail.onnx.symbolic_helper.parse_args("v", "i")
    assert decorator(test_nothing_is_exported) is test_nothing_is_exported
    dovetail.onnx.register_custom_op_symbolic("some::op", decorator, 11)


def test_conditions_on_values_raise_the_message() -> None:
    dovetail._assert(dovetail.tensor(True), "fine")
    dovetail._assert_async(dovetail.tensor(2.0))
    with pytest.raises(AssertionError, match="not so"):
        dovetail._assert(dovetail.tensor([0]), "not so")
    with pytest.raises(RuntimeError, match="not so"):
        dovetail._assert_async(dovetail.tensor(0.0), "not so")
    with pytest.raises(RuntimeError, match="single nonzero value, but got zero"):
        dovetail._assert_async(dovetail.tensor(False))


def test_a_divergence_is_registered_for_a_base_that_is_no_distribution(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Named:
        pass

    class Left(dovetail.distributions.Distribution, Named):
        arg_constraints: ClassVar = {}

    monkeypatch.setitem(kl._KL_REGISTRY, (Left, Named), None)  # and takes it out afterwards

    @register_kl(Left, Named)
    def divergence(p: Any, q: Any) -> str:
        return "registered"

    p = Left()
    assert kl_divergence(p, p) == "registered"
    with pytest.raises(TypeError, match="Expected type_q to be a class but got 3"):
        register_kl(Left, 3)


class Scaling(Transform, nn.Module):  # type: ignore[misc] # both have `__call__`
    domain = codomain = constraints.real

    def __init__(self) -> None:
        super().__init__(cache_size=1)
        self.layer = nn.Linear(1, 1)

    __hash__ = nn.Module.__hash__


class Centred(dovetail.distributions.Distribution, nn.Module):
    arg_constraints: ClassVar = {"scale": constraints.positive}

    def __init__(self, scale: dovetail.Tensor) -> None:
        self.scale = scale
        super().__init__(scale.shape, validate_args=True)
        self.layer = nn.Linear(1, 1)


@pytest.mark.parametrize("make", [Scaling, lambda: Centred(dovetail.ones(2))])
def test_a_transform_or_a_distribution_is_a_module_as_well(make: Any) -> None:
    assert [name for name, _ in make().named_parameters()] == ["layer.weight", "layer.bias"]


def test_operators_among_the_attributes_of_a_module_are_no_methods() -> None:
    class Layer(nn.Module):
        convolve = dovetail.conv2d
        forward = dovetail.relu

    layer = Layer()
    assert layer.convolve(dovetail.ones(1, 1, 3, 3), dovetail.ones(1, 1, 3, 3)).item() == 9
    assert layer(dovetail.tensor([-1.0, 1.0])).tolist() == [0, 1]


def test_named_members_are_pairs_from_any_function() -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.odd = {"x": 3}

    module = nn.Sequential(Odd(), Odd())
    pairs = module._named_members(lambda each: getattr(each, "odd", {}).items())
    assert dict(pairs) == {"0.x": 3}
    pairs = module._named_members(
        lambda each: getattr(each, "odd", {}).items(), remove_duplicate=False
    )
    assert dict(pairs) == {"0.x": 3, "1.x": 3}


def test_codes_of_reductions_have_their_own_module() -> None:
    codes = nn._reduction
    assert [codes.get_enum(each) for each in ("none", "mean", "sum")] == [0, 1, 2]
    with pytest.raises(ValueError, match="is not a valid value for reduction"):
        codes.get_enum("max")
    with pytest.warns(UserWarning, match="please use reduction='sum'"):
        assert codes.legacy_get_string(False, None) == "sum"
    flags = (True, False, None)
    strings = [codes.legacy_get_string(a, b, emit_warning=False) for a in flags for b in flags]
    assert strings == ["mean", "none", "mean", "sum", "none", "sum", "mean", "none", "mean"]
    assert codes.legacy_get_enum(None, False, emit_warning=False) == 0


Pair = namedtuple("Pair", "left right")


def test_containers_are_split_over_devices_and_joined() -> None:
    x = dovetail.arange(6.0).reshape(3, 2).requires_grad_()
    here = x.device
    inputs = {"a": (x, 1), "b": [Pair(x, None)]}
    first, second = scatter(inputs, [here, here])
    assert first["a"][0].tolist() == [[0, 1], [2, 3]]
    assert second["b"][0].left.tolist() == [[4, 5]]
    assert second["a"][1] == 1
    assert isinstance(second["b"][0], Pair)
    joined = gather([first["b"], second["b"]], here)
    assert isinstance(joined[0], Pair)
    assert dovetail.equal(joined[0].left, x)
    joined[0].left.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[1, 1]] * 3
    assert gather([dovetail.tensor(1), dovetail.tensor(2)], here).tolist() == [1, 2]
    assert gather([{"a": x[:1]}, {"a": x[1:]}], here)["a"].shape == (3, 2)
    with pytest.raises(ValueError, match="All dicts must have the same number of keys"):
        gather([{"a": x}, {}], here)
    args, kwargs = scatter_kwargs((x,), {"few": x[:1]}, [here, here])
    assert len(args) == len(kwargs) == 2
    assert kwargs[1] == {}


@pytest.mark.parametrize("device_count", [1, 2, 5])
def test_what_is_no_tensor_goes_to_each_device(device_count: int) -> None:
    assert scatter((3, "x"), ["cpu"] * device_count) == [(3, "x")] * device_count
    assert scatter([], ["cpu"] * device_count) == [[]] * device_count


def test_the_name_of_a_file_tells_the_digits_of_its_sum() -> None:
    found = dovetail.hub.HASH_REGEX.search("net-3f2a9b.pth")
    assert found is not None
    assert found.group(1) == "3f2a9b"


def test_texts_of_values_begin_with_torch_where_it_is_imported() -> None:
    x = dovetail.zeros(2, 3)
    with dovetail.as_torch():
        assert str(x.dtype) == "torch.float32"
        assert repr(x.shape) == "torch.Size([2, 3])"
        assert repr(x.layout) == "torch.strided"
        assert repr(dovetail.float16).removeprefix("torch.") == dovetail.finfo(dovetail.half).dtype
    assert str(x.dtype) == "dovetail.float32"
    assert repr(x.shape) == "dovetail.Size([2, 3])"


def test_each_tensor_has_a_number_of_its_own() -> None:
    x, y = dovetail.ones(1), dovetail.ones(1)
    assert x._cdata == x._cdata
    assert x._cdata != y._cdata


def test_a_subclass_that_takes_a_slot_of_tensors_is_told_which() -> None:
    class Wrapped(dovetail.Tensor):
        @property
        def array(self) -> None:
            return None

    with pytest.raises(TypeError, match=r"Wrapped defines array, where .* Give it another name"):
        dovetail.ones(1).as_subclass(Wrapped)


def test_what_computes_is_told() -> None:
    assert f"numpy {np.__version__}" in dovetail.__config__.show()
    assert (
        f"get_num_threads() : {dovetail.get_num_threads()}" in dovetail.__config__.parallel_info()
    )


def test_classes_without_instances_are_there_for_isinstance() -> None:
    from dovetail._dynamo.eval_frame import OptimizedModule
    from dovetail.distributed.tensor import DTensor
    from dovetail.nn.attention.flex_attention import BlockMask

    x = dovetail.ones(1)
    assert not isinstance(x, DTensor)
    assert not isinstance(nn.Linear(1, 1), OptimizedModule)
    with pytest.raises(NotImplementedError, match="DistributedDataParallel"):
        DTensor.from_local(dovetail.ones(1))
    with pytest.raises(NotImplementedError, match="DistributedDataParallel"):
        DTensor(dovetail.ones(1))
    with pytest.raises(RuntimeError, match="Nothing is compiled: use the module as it is"):
        OptimizedModule(nn.Linear(1, 1))
    with pytest.raises(NotImplementedError, match="scaled_dot_product_attention"):
        BlockMask((1, 1), x, x, None, None, None, None, None, None)


def test_a_mapped_index_selects_where_masks_of_attention_are_made() -> None:
    from dovetail._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

    x = dovetail.arange(4.0)
    with TransformGetItemToIndex():
        assert dovetail.vmap(lambda i: x[i])(dovetail.tensor([2, 1])).tolist() == [2, 1]


def test_containers_that_are_dicts_are_registered_by_pytorchs_functions() -> None:
    from dovetail.utils import _pytree as pytree

    class Output(dict):
        pass

    pytree.register_pytree_node(
        Output,
        pytree._dict_flatten,
        lambda values, keys: Output(pytree._dict_unflatten(values, keys)),
        flatten_with_keys_fn=pytree._dict_flatten_with_keys,
    )
    doubled = pytree.tree_map(lambda each: 2 * each, Output(a=1, b=[2]))
    assert isinstance(doubled, Output)
    assert doubled == {"a": 2, "b": [4]}
    paths, _ = pytree.tree_flatten_with_path(Output(a=1))
    assert pytree.keystr(paths[0][0]) == "['a']"


def test_containers_are_listed_by_their_type() -> None:
    from dovetail.utils._pytree import SUPPORTED_NODES, LeafSpec, TreeSpec, tree_unflatten

    assert {tuple, list, dict} <= set(SUPPORTED_NODES)
    assert Pair in SUPPORTED_NODES
    assert dovetail.Tensor not in SUPPORTED_NODES
    assert len(SUPPORTED_NODES) == len(set(SUPPORTED_NODES))
    node = SUPPORTED_NODES[Pair]
    items, context = node.flatten_fn(Pair(1, 2))
    assert node.unflatten_fn(list(items), context) == Pair(1, 2)
    made = tree_unflatten([3, 4], TreeSpec(Pair, None, [LeafSpec(), LeafSpec()]))
    assert made == Pair(3, 4)


def test_iterators_of_a_data_loader_have_pytorchs_names() -> None:
    from dovetail.utils.data import dataloader

    batches = iter(dataloader.DataLoader([1, 2]))
    assert isinstance(batches, dataloader._BaseDataLoaderIter)
    assert isinstance(batches, dataloader._SingleProcessDataLoaderIter)
    assert not isinstance(batches, dataloader._MultiProcessingDataLoaderIter)


def test_arguments_of_to_are_told_apart() -> None:
    cpu = dovetail.device("cpu")
    parse = dovetail._C._nn._parse_to
    assert parse("cpu", dovetail.float64) == (cpu, dovetail.float64, False, None)
    assert parse(dovetail.float16, non_blocking=True) == (None, dovetail.float16, True, None)
    kept = parse(memory_format=dovetail.channels_last, device="cpu")
    assert kept == (cpu, None, False, dovetail.channels_last)


def test_containers_that_are_lists_or_tuples_are_registered_by_pytorchs_functions() -> None:
    from dovetail.utils import _pytree as pytree

    class Items(list):
        pass

    class Row(tuple):
        __slots__ = ()

    pytree.register_pytree_node(
        Items, pytree._list_flatten, lambda v, c: Items(pytree._list_unflatten(v, c))
    )
    pytree.register_pytree_node(
        Row, pytree._tuple_flatten, lambda v, c: Row(pytree._tuple_unflatten(v, c))
    )
    for container in (Items([1, 2]), Row((1, 2))):
        doubled = pytree.tree_map(lambda each: 2 * each, container)
        assert type(doubled) is type(container)
        assert list(doubled) == [2, 4]
    values, context = pytree._namedtuple_flatten(Pair(1, 2))
    assert pytree._namedtuple_unflatten([2 * each for each in values], context) == Pair(2, 4)


def test_the_sigmoid_of_transforms_stays_off_0_and_1() -> None:
    from dovetail.distributions.transforms import _clipped_sigmoid

    values = _clipped_sigmoid(dovetail.tensor([-200.0, 0.0, 200.0])).tolist()
    limits = dovetail.finfo(dovetail.float32)
    assert values == [limits.tiny, 0.5, 1 - limits.eps]


def test_processes_that_call_each_other_are_not_available() -> None:
    from dovetail.distributed import rpc

    assert not rpc.is_available()


@pytest.mark.skipif(dovetail.distributed.is_available(), reason="dovetail-mpi makes them")
def test_divided_optimizers_say_what_to_install() -> None:
    from dovetail.distributed.optim import ZeroRedundancyOptimizer

    optimizer = dovetail.optim.SGD([dovetail.ones(1)], lr=1)
    assert not isinstance(optimizer, ZeroRedundancyOptimizer)
    with pytest.raises(RuntimeError, match=r"optim\.ZeroRedundancyOptimizer: .*dovetail-mpi"):
        ZeroRedundancyOptimizer([dovetail.ones(1)], dovetail.optim.SGD)


@pytest.mark.parametrize("name", ["Graph", "Node", "Value"])
def test_graphs_of_scripts_can_be_named_and_not_made(name: str) -> None:
    with pytest.raises(RuntimeError, match="symbolic_trace makes a graph of a module"):
        getattr(dovetail._C, name)()


def test_annotations_of_loaders_have_their_names() -> None:
    assert dovetail.utils.data.dataloader._worker_init_fn_t == Callable[[int], None]
    assert dovetail.utils.data.dataloader._collate_fn_t[int] == Callable[[list[int]], Any]
