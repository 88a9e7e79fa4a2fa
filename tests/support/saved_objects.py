"""Objects of every kind that files hold, and how two of a kind are compared.

`write` saves one file per kind, as this version does; `tests/front/test_saved_files.py` loads what
earlier versions wrote::

    PYTHONPATH=tests/support python -c "import saved_objects; saved_objects.write('FOLDER')"
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, Final

import dovetail
from dovetail import distributions, nn, optim
from dovetail.utils import data

_LAYERS: Final[dict[str, tuple[Any, ...]]] = {
    "AdaptiveLogSoftmaxWithLoss": (4, 6, [2, 4]),
    "Bilinear": (2, 2, 1),
    "ChannelShuffle": (2,),
    "CrossMapLRN2d": (2,),
    "Embedding": (3, 2),
    "EmbeddingBag": (3, 2),
    "Fold": (4, 2),
    "FractionalMaxPool2d": (2, 1),
    "FractionalMaxPool3d": (2, 1),
    "GRU": (2, 2),
    "GRUCell": (2, 2),
    "GroupNorm": (1, 2),
    "LSTM": (2, 2),
    "LSTMCell": (2, 2),
    "LinearCrossEntropyLoss": (2, 3),
    "MultiheadAttention": (2, 1),
    "PixelShuffle": (2,),
    "PixelUnshuffle": (2,),
    "RNN": (2, 2),
    "RNNCell": (2, 2),
    "Threshold": (0.1, 20.0),
    "Transformer": (2, 1, 1, 1, 2),
    "TransformerDecoderLayer": (2, 1, 2),
    "TransformerEncoderLayer": (2, 1, 2),
    "Unflatten": (1, (1, 2)),
    "Unfold": (2,),
}
"""Arguments of layers that refuse two for their first ones."""
_ABSTRACT: Final = {"Container", "DataParallel", "RNNBase", "RNNCellBase"}
_OPTIMIZERS: Final[dict[str, dict[str, Any]]] = {"SGD": {"lr": 0.1, "momentum": 0.9}}


def _tensors() -> Any:
    base = dovetail.arange(12.0).reshape(3, 4)
    bits = dovetail.tensor([1.5, -2.0])
    return {
        "base and view of it": [base, base[1:, ::2]],
        "leaf": dovetail.ones(2, requires_grad=True),
        "empty": dovetail.empty(0, 3),
        "number": dovetail.tensor(7),
        "dtypes": [
            bits.to(each)
            for each in (
                *(dovetail.bool, dovetail.uint8, dovetail.int8, dovetail.int16, dovetail.int32),
                *(dovetail.int64, dovetail.float16, dovetail.bfloat16, dovetail.float64),
                *(dovetail.complex64, dovetail.complex128),
            )
        ],
    }


def _meta() -> Any:
    return dovetail.empty(2, 3, device="meta")


def _values() -> Any:
    return {
        "dtypes": [dovetail.float32, dovetail.complex32, dovetail.uint4],
        "layouts": [dovetail.strided, dovetail.sparse_coo],
        "formats": [dovetail.channels_last, dovetail.contiguous_format],
        "devices": [dovetail.device("cpu"), dovetail.device("meta"), dovetail.device("cuda:1")],
        "size": dovetail.Size([2, 3]),
        "limits": [dovetail.finfo(dovetail.float16), dovetail.iinfo(dovetail.int8)],
        "keys": [dovetail.DispatchKey.CPU, dovetail.DispatchKey.AutogradCPU],
        "key set": dovetail.DispatchKeySet(dovetail.DispatchKey.CPU),
    }


def _generators() -> Any:
    given = dovetail.Generator()
    given.manual_seed(17)
    return [given, dovetail.rand(2, generator=given), given.get_state()]


def _layer(name: str) -> Any:
    layer = getattr(nn, name)
    if name == "TransformerEncoder":
        return layer(nn.TransformerEncoderLayer(2, 1, 2), 1, enable_nested_tensor=False)
    if name == "TransformerDecoder":
        return layer(nn.TransformerDecoderLayer(2, 1, 2), 1)
    if name in _LAYERS:
        return layer(*_LAYERS[name])
    required = [
        each
        for each in signature(layer).parameters.values()
        if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD
    ]
    return layer(*[2 for _ in required])


def layer_names() -> list[str]:
    """Return the names of the layers of `nn` that can be made, those in capitals first: in this
    order their numbers were drawn for the saved files.
    """
    names = sorted(nn.__all__, key=lambda name: (not name.isupper(), name))
    classes = {name: getattr(nn, name) for name in names}
    return [
        name
        for name, each in classes.items()
        if isinstance(each, type) and issubclass(each, nn.Module) and name not in _ABSTRACT
    ]


def _layers() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that go, and of weights without elements
        return {name: _layer(name) for name in layer_names()}


def _parameters() -> Any:
    shared = nn.Parameter(dovetail.ones(2, 2))
    return {
        "shared": [shared, shared.detach(), shared],
        "frozen": nn.Parameter(dovetail.ones(1), requires_grad=False),
        "buffer": nn.Buffer(dovetail.ones(1), persistent=False),
        "uninitialized": [nn.UninitializedParameter(), nn.UninitializedBuffer()],
        "list": nn.ParameterList([shared]),
        "dict": nn.ParameterDict({"a": shared}),
    }


def _modules() -> Any:
    model = nn.Sequential(nn.Linear(2, 3), nn.ModuleDict({"a": nn.ReLU()}), nn.Linear(3, 1))
    model.register_buffer("counted", dovetail.tensor(3))
    hooked = nn.Linear(1, 1)
    handle = hooked.register_forward_hook(_hook)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        normed = nn.utils.weight_norm(nn.Linear(2, 2))
    return [model, hooked, handle, normed, nn.utils.spectral_norm(nn.Linear(2, 2))]


def _pruned() -> Any:
    from dovetail.nn.utils import prune

    return prune.l1_unstructured(nn.Linear(2, 2), "weight", amount=1)


def _hook(module: Any, args: Any, result: Any) -> None:
    """Does nothing; hooks are pickled by name."""


def _stepped(name: str) -> Any:
    parameter = nn.Parameter(dovetail.ones(2, 2))
    kind = getattr(optim, name)
    made = kind([parameter], **_OPTIMIZERS.get(name, {"lr": 0.1}))
    loss = (parameter * parameter).sum()
    loss.backward()
    if name == "SparseAdam":
        return made
    made.step(lambda: loss) if name == "LBFGS" else made.step()
    return made


def optimizer_names() -> list[str]:
    """Return the names of the optimizers."""
    names = sorted(optim.__all__, key=lambda name: (not name.isupper(), name))  # as files have them
    classes = {name: getattr(optim, name) for name in names}
    return [n for n, each in classes.items() if isinstance(each, type) and n != "Optimizer"]


def _optimizers() -> Any:
    return {name: _stepped(name) for name in optimizer_names()}


def _schedulers() -> Any:
    kinds = optim.lr_scheduler
    sgd = optim.SGD([nn.Parameter(dovetail.ones(1))], lr=0.1, momentum=0.9)
    simple: dict[str, tuple[Any, ...]] = {
        "ConstantLR": (),
        "CosineAnnealingLR": (5,),
        "CosineAnnealingWarmRestarts": (5,),
        "CyclicLR": (0.01, 0.1),
        "ExponentialLR": (0.9,),
        "LinearLR": (),
        "MultiStepLR": ([2, 4],),
        "OneCycleLR": (0.1, 10),
        "PolynomialLR": (),
        "ReduceLROnPlateau": (),
        "StepLR": (2,),
    }
    made: dict[str, Any] = {name: getattr(kinds, name)(sgd, *args) for name, args in simple.items()}
    made["ChainedScheduler"] = kinds.ChainedScheduler([kinds.ConstantLR(sgd), kinds.LinearLR(sgd)])
    parts = [kinds.ConstantLR(sgd), kinds.ExponentialLR(sgd, 0.9)]
    made["SequentialLR"] = kinds.SequentialLR(sgd, parts, milestones=[2])
    model = nn.Linear(1, 1)
    return [made, optim.swa_utils.AveragedModel(model), optim.swa_utils.SWALR(sgd, 0.05)]


def _distributions() -> Any:
    one, two = dovetail.tensor([0.25, 0.75]), dovetail.tensor([2.0, 3.0])
    normal = distributions.Normal(one, two)
    transforms = [distributions.ExpTransform(), distributions.AffineTransform(1.0, 2.0)]
    return [
        *(normal, distributions.Bernoulli(one), distributions.Categorical(logits=two)),
        *(distributions.Gamma(two, one), distributions.Independent(normal, 1)),
        distributions.MultivariateNormal(two, dovetail.eye(2)),
        distributions.TransformedDistribution(normal, transforms),
        *(distributions.Uniform(one, two), distributions.StudentT(two), transforms),
        [distributions.constraints.positive, distributions.constraints.interval(0.0, 1.0)],
        distributions.MixtureSameFamily(distributions.Categorical(one), normal),
    ]


def _datasets() -> Any:
    whole = data.TensorDataset(dovetail.arange(6), dovetail.arange(6.0))
    return [
        *(whole, data.Subset(whole, [1, 2]), data.ConcatDataset([whole, whole])),
        *(data.StackDataset(whole), data.SequentialSampler(whole)),
        data.BatchSampler(data.SequentialSampler(whole), 2, drop_last=True),
        data.SubsetRandomSampler([1, 2]),
    ]


def exception_classes() -> list[type[BaseException]]:
    """Return the public classes of exceptions and warnings."""
    modules = (dovetail, dovetail.cuda, dovetail.linalg, dovetail.autograd, dovetail.jit)
    modules += (dovetail.multiprocessing, dovetail.distributions)
    found = {
        each
        for module in modules
        for each in [getattr(module, name, None) for name in getattr(module, "__all__", ())]
        if isinstance(each, type)
        and issubclass(each, BaseException)
        and each.__module__.startswith("dovetail")
    }
    return sorted(found, key=lambda each: each.__name__)


def _raised(function: Callable[[], object]) -> BaseException:
    try:
        function()
    except Exception as error:
        return error.with_traceback(None)
    raise AssertionError(f"{function} was to raise")


_LATER = {"OutOfMemoryError"}
"""Classes of exceptions that the saved files do not have."""


def _exceptions() -> Any:
    matrix = dovetail.zeros(2, 2)
    made: list[Any] = [_raised(lambda: dovetail.linalg.inv(matrix))]
    made += [_raised(lambda: dovetail.ones(3) @ dovetail.ones(4))]
    for each in exception_classes():
        if each.__name__ in _LATER:
            continue
        try:
            made.append(each("text"))
        except TypeError:  # takes more
            made.append(each)
    return made


def _double(x: Any) -> Any:
    return x * 2 + 1


def _traces() -> Any:
    x = dovetail.ones(2)
    with dovetail.tracing() as calls:
        _double(x)
    return calls


def _graphs() -> Any:
    return dovetail.fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))


def _results() -> Any:
    x = dovetail.tensor([[3.0, 1.0], [2.0, 4.0]])
    return [x.max(1), x.sort(), dovetail.linalg.slogdet(x), dovetail.linalg.svd(x), x.topk(1)]


def _storages() -> Any:
    x = dovetail.arange(3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return [x.untyped_storage(), x.storage(), dovetail.FloatStorage(2).fill_(1.0)]


def _sparse() -> Any:
    return dovetail.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))


def _sequences() -> Any:
    packed = nn.utils.rnn.pack_sequence([dovetail.arange(3.0), dovetail.arange(2.0)])
    return [packed, dovetail.amp.GradScaler("cpu", enabled=False)]


def _functions() -> Any:
    return [
        *(dovetail.relu, dovetail.add, dovetail.nn.functional.gelu, dovetail.linalg.det),
        *(dovetail.fft.rfft, dovetail.special.erfcx, dovetail.no_grad, dovetail.vmap),
        *(dovetail.nn.functional.softmax, dovetail.Tensor, dovetail.autograd.Function),
        *(dovetail.nn.init.zeros_, dovetail.optim.Adam, dovetail.is_tensor, dovetail.save),
        *(dovetail.device, dovetail.dtype, dovetail.library.Library),
    ]


def _schemas() -> Any:
    return dovetail.ops.aten.add.Tensor._schema


KINDS: Final[dict[str, Callable[[], Any]]] = {
    "tensors": _tensors,
    "meta": _meta,
    "values": _values,
    "generators": _generators,
    "parameters": _parameters,
    "layers": _layers,
    "modules": _modules,
    "pruned": _pruned,
    "optimizers": _optimizers,
    "schedulers": _schedulers,
    "distributions": _distributions,
    "datasets": _datasets,
    "exceptions": _exceptions,
    "traces": _traces,
    "graphs": _graphs,
    "results": _results,
    "storages": _storages,
    "sparse": _sparse,
    "sequences": _sequences,
    "functions": _functions,
    "schemas": _schemas,
}
PICKLED_ALONE: Final = ("layers", "meta")
"""Kinds without a file of `dovetail.save`: layers are many, and meta tensors came later."""


def made(kind: str) -> Any:
    """Return the objects of a kind, with the numbers of the seed 0."""
    with dovetail.random.fork_rng():
        dovetail.manual_seed(0)
        return KINDS[kind]()


def described(value: Any, *, with_layouts: bool = True) -> Any:
    """Return what is to be the same of two objects of a kind: names, numbers and texts, nested.
    Without layouts also of tensors of operators whose results lie elsewhere in memory by now.
    """
    kind, inner = type(value).__name__, partial(described, with_layouts=with_layouts)
    if isinstance(value, type) or (callable(value) and hasattr(value, "__code__")):
        return ("named", value.__name__, id(value))
    if isinstance(value, dovetail.Tensor):
        return _described_tensor(kind, value, with_layouts=with_layouts)
    if isinstance(value, Mapping):
        return kind, [(inner(key), inner(each)) for key, each in value.items()]
    if isinstance(value, (list, tuple, set)):
        return kind, [inner(each) for each in value]
    if isinstance(value, dovetail.Generator):
        return kind, inner(value.get_state())
    if isinstance(value, (nn.Module, optim.Optimizer)):
        code = value.code if isinstance(value, dovetail.fx.GraphModule) else ""
        return kind, repr(value), code, inner(value.state_dict())
    if isinstance(value, BaseException):
        return kind, repr(value.args)
    if isinstance(value, dovetail.tracing):
        return kind, [span.name for span in value.spans]
    if isinstance(value, (distributions.Distribution, distributions.Transform, data.Dataset)):
        return kind, inner(vars(value))
    if hasattr(value, "state_dict"):
        return kind, inner(value.state_dict())
    if isinstance(value, (nn.RemovableHandle, data.Sampler)) or type(value).__repr__ is _PLAIN:
        return kind
    return kind, repr(value)


_PLAIN: Final = object.__repr__


def _described_tensor(kind: str, tensor: Any, *, with_layouts: bool) -> Any:
    if isinstance(tensor, (nn.UninitializedParameter, nn.UninitializedBuffer)):
        return kind, tensor.requires_grad
    # How far apart the elements of a dimension with one element would lie says nothing.
    skips = tensor.is_sparse or not with_layouts
    steps = () if skips else zip(tensor.shape, tensor.stride(), strict=True)
    layout = tuple([step if size != 1 else 1 for size, step in steps])
    values = None if tensor.is_meta else tensor.detach().to_dense().tolist()
    facts = kind, str(tensor.dtype), str(tensor.device), tuple(tensor.shape), layout
    return *facts, tensor.requires_grad, repr(values)


def write(folder: str | Path) -> None:
    """Save the objects of each kind, by `pickle` and by `dovetail.save`, as this version does."""
    folder = Path(folder)
    for kind in KINDS:
        objects = made(kind)
        (folder / f"{kind}.pickle").write_bytes(pickle.dumps(objects, protocol=4))
        if kind not in PICKLED_ALONE:
            dovetail.save(objects, folder / f"{kind}.saved")
