"""Names of PyTorch outside its main modules that programs reach for: the same here and there."""

from __future__ import annotations

import gc
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from devices import cpu_only_where
from same_programs import Programs, assert_same, plain

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

pytestmark = pytest.mark.filterwarnings("ignore")

program = Programs()


def outcome(call: Callable[[], Any], *, words: int = 25) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error).replace("dovetail", "torch")[:words]


def module(lib: Any, name: str) -> Any:
    return import_module(f"{lib.__name__}.{name}")


@program("a branch is called by what a number or a tensor holds")
def _(lib: Any) -> Any:
    x = lib.ones(2, requires_grad=True)

    def chosen(pred: Any, operands: Any = (x,)) -> Any:
        return lib.cond(pred, lambda y: y * 2, lambda y: y * 3, operands)

    chosen(lib.tensor(False)).sum().backward()
    return [
        chosen(True),
        chosen(lib.tensor([0.0]), [x]),
        chosen(1),
        x.grad,
        lib.cond(lib.tensor(False), lambda: 3, lambda: 4),
        outcome(lambda: chosen(lib.ones(2) > 0), words=60),
    ]


@program("flattened tensors come back in their shapes")
def _(lib: Any) -> Any:
    utils = module(lib, "_utils")
    tensors = [lib.ones(2), lib.zeros(1, 3)]
    flat = utils._flatten_dense_tensors(tensors)
    parts = utils._unflatten_dense_tensors(lib.arange(5.0), tensors)
    single = lib.ones(2, 2)
    shares = utils._flatten_dense_tensors([single]).data_ptr() == single.data_ptr()
    few = outcome(lambda: utils._unflatten_dense_tensors(lib.ones(4), tensors), words=12)
    none = type(outcome(lambda: utils._flatten_dense_tensors([])))
    return flat, list(parts), shares, few, none


@program("tensors are taken in groups of a dtype and a size, and put in the order of others")
def _(lib: Any) -> Any:
    utils = module(lib, "_utils")
    mixed = [lib.ones(4), lib.ones(2, dtype=lib.int32), lib.ones(3), lib.ones(1)]
    groups = [list(each) for each in utils._take_tensors(mixed, 16)]
    ordered = utils._reorder_tensors_as(mixed[:2], [mixed[1], mixed[0]])
    return groups, list(ordered), utils._element_size(lib.float64)


@program("the index of a device is found, or it is said that there is none")
def _(lib: Any) -> Any:
    index = module(lib, "_utils")._get_device_index
    return [
        index("cuda:1"),
        index(3),
        index(lib.device("cuda:2")),
        index("cpu", allow_cpu=True),
        outcome(lambda: index("cpu")),
        outcome(lambda: index("cuda")),
        outcome(lambda: index(None)),
    ]


@program("an error is raised again elsewhere, with its type and its traceback")
def _(lib: Any) -> Any:
    wrapper = module(lib, "_utils").ExceptionWrapper

    class TakesTwo(Exception):
        def __init__(self, first: int, second: int) -> None:
            super().__init__()

    found = []
    for error in (ValueError("bad"), KeyError("key\nand more"), TakesTwo(1, 2)):
        try:
            raise error
        except Exception:
            wrapped = wrapper(where="in worker 3")
        try:
            wrapped.reraise()
        except Exception as raised:
            found.append((type(raised).__name__, str(raised).splitlines()[0]))
    return found


@program("names of old rebuild a tensor of a storage")
def _(lib: Any) -> Any:
    made = module(lib, "_utils")._rebuild_tensor_v2(
        lib.arange(6.0).storage(), 1, (2, 2), (2, 1), True, {}
    )
    return made, made.requires_grad, made.is_leaf


@program("tensors become each other")
def _(lib: Any) -> Any:
    x, y = lib.ones(2, requires_grad=True), lib.zeros(3, dtype=lib.int32)
    x.name_of_mine = 1
    lib.utils.swap_tensors(x, y)
    first = [x, y, y.name_of_mine, hasattr(x, "name_of_mine"), y.requires_grad]
    a, b = lib.ones(2, requires_grad=True), lib.nn.Parameter(lib.zeros(2, 1))
    (a * 2).sum().backward()
    gc.collect()
    lib.utils.swap_tensors(a, b)
    return first, type(a).__name__, type(b).__name__, a, b, b.grad, a.grad


@program("a module keeps its parameters, or gets others, as the settings say")
def _(lib: Any) -> Any:
    settings = module(lib, "__future__")
    found = []
    for swaps, overwrites in ((False, False), (True, False), (False, True)):
        settings.set_swap_module_params_on_conversion(swaps)
        settings.set_overwrite_module_params_on_conversion(overwrites)
        layer, meta = lib.nn.Linear(2, 2), lib.nn.Linear(2, 2, device="meta")
        before = layer.weight, meta.weight
        layer.double()
        meta.to_empty(device="cpu")
        found.append((layer.weight is before[0], meta.weight is before[1], layer.weight.dtype))
        settings.set_swap_module_params_on_conversion(False)
        settings.set_overwrite_module_params_on_conversion(False)
    return [(kept, other, str(kind).rpartition(".")[2]) for kept, other, kind in found]


@program("batch norms use the statistics of the batch alone")
def _(lib: Any) -> Any:
    net = lib.nn.Sequential(lib.nn.BatchNorm1d(2), lib.nn.Sequential(lib.nn.BatchNorm2d(3)))
    same = lib.func.replace_all_batch_norm_modules_(net) is net
    return same, net, list(net.state_dict()), net.eval()[0](lib.arange(4.0).reshape(2, 2))


@program("masks are joined")
def _(lib: Any) -> Any:
    flex = module(lib, "nn.attention.flex_attention")
    place = [lib.tensor(each) for each in (0, 0, 1, 2)]

    def causal(b: Any, h: Any, q: Any, k: Any) -> Any:
        return q >= k

    joined = [flex.and_masks(flex.noop_mask, causal), flex.or_masks(causal, flex.noop_mask)]
    return [each(*place) for each in joined], outcome(lambda: flex.and_masks(1))


@program("the switches of attention are kept, also inside a block")
def _(lib: Any) -> Any:
    cuda = module(lib, "backends.cuda")

    def state() -> list[bool]:
        names = ("flash_sdp", "math_sdp", "mem_efficient_sdp", "cudnn_sdp")
        return [getattr(cuda, f"{name}_enabled")() for name in names]

    found = [state()]
    cuda.enable_flash_sdp(False)
    found.append(state())
    with cuda.sdp_kernel(enable_math=False, enable_cudnn=False):
        found.append(state())
    cuda.enable_flash_sdp(True)
    return found, state(), cuda.fp16_bf16_reduction_math_sdp_allowed()


@program("settings of autocast by device are those by name")
def _(lib: Any) -> Any:
    before = lib.get_autocast_cpu_dtype()
    lib.set_autocast_cpu_dtype(lib.float16)
    changed = lib.get_autocast_dtype("cpu")
    lib.set_autocast_cpu_dtype(before)
    lib.set_autocast_cpu_enabled(True)
    product = lib.ones(2, 2) @ lib.ones(2, 2)
    state = lib.is_autocast_cpu_enabled(), lib.is_autocast_enabled("cpu")
    lib.set_autocast_cpu_enabled(False)
    nested = lib.autocast_increment_nesting(), lib.autocast_decrement_nesting()
    lib.clear_autocast_cache()
    dtypes = [before, changed, product.dtype, lib.get_autocast_gpu_dtype()]
    return [str(each).rpartition(".")[2] for each in dtypes], state, nested


@program("sizes are numbers, with the functions of symbolic ones")
def _(lib: Any) -> Any:
    return [
        isinstance(lib.ones(3).shape[0], lib.SymInt | lib.SymFloat | lib.SymBool),
        lib.sym_int(2.5),
        lib.sym_float(2),
        lib.sym_max(2, 3.0),
        lib.sym_max(4, 3.0),
        lib.sym_min(2, 3),
        lib.sym_not(True),
        lib.sym_ite(True, 1, 2),
        lib.sym_sum([1, 2, 3]),
    ]


@program("arguments of a checkpoint are detached, and generators are put back")
def _(lib: Any) -> Any:
    checkpoint = module(lib, "utils.checkpoint")
    x = lib.ones(2, requires_grad=True) * 2
    detached, number = checkpoint.detach_variable((x, 3))
    checkpoint.set_device_states(*checkpoint.get_device_states(x))
    facts = detached.is_leaf, detached.requires_grad, number
    return facts, outcome(lambda: checkpoint.detach_variable([x])), checkpoint.get_device_states(x)


@program("classes of scripts say no of everything")
def _(lib: Any) -> Any:
    layer, jit = lib.nn.Linear(1, 1), module(lib, "jit")
    classes = (jit.RecursiveScriptModule, jit.TopLevelTracedModule, jit.ScriptModule)
    return isinstance(layer, classes), issubclass(jit.TracerWarning, Warning)


@program("a function that derives from the class of old works in place")
def _(lib: Any) -> Any:
    function = module(lib, "autograd.function")

    class Double(function.InplaceFunction):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    x = lib.ones(2, requires_grad=True)
    Double.apply(x.clone()).sum().backward()
    return x.grad, isinstance(Double, function.FunctionMeta)


@program("entries of weak mappings are gone with their tensors")
def _(lib: Any) -> Any:
    weak = module(lib, "utils.weak")
    x, y = lib.ones(2), lib.ones(2)
    table = weak.WeakIdKeyDictionary({x: 1, y: 2})
    found = [len(table), table[x], table[y], x in table, lib.ones(2) in table, 3 in table]
    held = weak.TensorWeakRef(x)
    found.append(held() is x)
    del x
    gc.collect()
    return [*found, len(table), list(table.values()), held(), table.pop(y), len(table)]


def counted(lib: Any, run: Callable[[], Any], **options: Any) -> Any:
    counter = module(lib, "utils.flop_counter").FlopCounterMode(display=False, **options)
    with counter:
        run()
    names = {
        name: {str(packet): count for packet, count in sorted(counts.items(), key=str)}
        for name, counts in sorted(counter.get_flop_counts().items())
    }
    return names, counter.get_total_flops()


@program("operations of products and convolutions are counted by operator")
def _(lib: Any) -> Any:
    functional = lib.nn.functional
    found = []
    for shape, weight, options in (
        ((2, 3, 8, 8), (6, 3, 3, 3), {"stride": 2}),
        ((1, 4, 9), (6, 2, 3), {"groups": 2}),
    ):
        call = functional.conv1d if len(shape) == 3 else functional.conv2d
        found.append(counted(lib, lambda: call(lib.ones(shape), lib.ones(weight), **options)))  # noqa: B023
    x, w = lib.ones(2, 3, 8, requires_grad=True), lib.ones(3, 5, 3, requires_grad=True)
    found.append(counted(lib, lambda: functional.conv_transpose1d(x, w).sum().backward()))
    products = [
        lambda: lib.baddbmm(lib.ones(2, 3, 5), lib.ones(2, 3, 4), lib.ones(2, 4, 5)),
        lambda: lib.einsum("ij,jk->ik", lib.ones(2, 3), lib.ones(3, 4)),
        lambda: lib.ones(2) + lib.ones(2),
    ]
    return found, [counted(lib, each)[1] for each in products]


@program("operations are counted by module, backward included")
def _(lib: Any) -> Any:
    class Net(lib.nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.first = lib.nn.Linear(3, 4)
            self.rest = lib.nn.Sequential(lib.nn.Tanh(), lib.nn.Linear(4, 2))

        def forward(self, x: Any) -> Any:
            return self.rest(self.first(x))

    net = Net()
    x = lib.ones(5, 3, requires_grad=True)
    return counted(lib, lambda: net(x).sum().backward())


@program("a formula of one's own counts what it says")
def _(lib: Any) -> Any:
    counter = module(lib, "utils.flop_counter")
    add = lib.ops.aten.add

    def formula(a: Any, b: Any, out_shape: Any = None, **options: Any) -> int:
        return len(a) + 10 * out_shape[0]

    x = lib.ones(2)
    refused = outcome(lambda: counter.register_flop_formula(3)(formula))
    return counted(lib, lambda: x + x, custom_mapping={add: formula}), refused


ON_CPU = {
    "settings of autocast by device are those by name",
    "arguments of a checkpoint are detached, and generators are put back",
}


@pytest.mark.parametrize(
    "name", cpu_only_where(program, lambda each: each in ON_CPU, "the device is the cpu")
)
def test_a_program_of_rarer_names_gives_what_pytorch_gives(name: str) -> None:
    assert_same(lambda lib: plain(program[name](lib)))


def test_operations_are_shown_in_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    import dovetail
    from dovetail.utils.flop_counter import FlopCounterMode

    net = dovetail.nn.Sequential(dovetail.nn.Linear(4, 8), dovetail.nn.Linear(8, 2))
    with FlopCounterMode(depth=1):
        net(dovetail.ones(3, 4))
    assert capsys.readouterr().out.splitlines() == [
        "Module          FLOP    % Total",
        "------------  ------  ---------",
        "Sequential       288    100.00%",
        "- aten.addmm     288    100.00%",
    ]


def test_the_products_of_attention_are_counted() -> None:
    import dovetail
    from dovetail.nn.functional import scaled_dot_product_attention

    query, key = dovetail.ones(1, 2, 4, 8), dovetail.ones(1, 2, 5, 8)
    _, total = counted(dovetail, lambda: scaled_dot_product_attention(query, key, key))
    assert total == 2 * (2 * 4 * 8 * 5) * 2


def test_a_loop_goes_on_while_its_condition_holds() -> None:
    import dovetail

    x = dovetail.ones((), requires_grad=True)
    count, value = dovetail.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (0, x))
    value.backward()
    assert (count, value.item(), x.grad.item()) == (3, 8.0, 8.0)
    with pytest.raises(RuntimeError, match="body_fn should return a tuple of 1 values"):
        dovetail.while_loop(lambda i: True, lambda i: i, (0,))


def test_what_is_part_of_a_graph_is_not_swapped() -> None:
    import dovetail

    x, y = dovetail.ones(2, requires_grad=True), dovetail.zeros(2)
    for other, words in ((x * 2, "was computed"), (dovetail.zeros(3)[1:], "is a view")):
        with pytest.raises(RuntimeError, match=words):
            dovetail.utils.swap_tensors(y, other)
    assert y.tolist() == [0.0, 0.0]


def test_the_names_of_old_warn_as_in_pytorch() -> None:
    import dovetail

    with pytest.warns(DeprecationWarning, match=r"use torch.get_autocast_dtype\('cuda'\)"):
        dovetail.get_autocast_gpu_dtype()
    with pytest.raises(Exception, match="load_state_dict_from_url"):
        dovetail.utils.model_zoo.load_url("file")
