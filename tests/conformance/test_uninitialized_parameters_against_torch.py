"""Parameters and buffers without a shape, beside PyTorch's."""

import copy
import pickle

import pytest
import torch
from devices import cpu_only_where
from same_programs import Programs, assert_same

import dovetail

programs = Programs()
USES = {
    "repr": repr,
    "shape": lambda u: u.shape,
    "device": lambda u: u.device.type,
    "dtype": lambda u: str(u.dtype).rpartition(".")[2],
    "size": lambda u: tuple(u.size()),
    "numel": lambda u: u.numel(),
    "dim": lambda u: u.dim(),
    "stride": lambda u: u.stride(),
    "len": len,
    "tolist": lambda u: u.tolist(),
    "detach": lambda u: u.detach(),
    "zero_": lambda u: u.zero_(),
    "add": lambda u: u + 1,
    "compare": lambda u: u == 1,
    "sum": lambda u: u.sum(),
    "index": lambda u: u[0],
    "share_memory_": lambda u: u.share_memory_(),
    "requires_grad": lambda u: u.requires_grad,
    "grad": lambda u: u.grad,
    "is_leaf": lambda u: u.is_leaf,
    "half": lambda u: str(u.half().dtype).rpartition(".")[2],
    "cpu": lambda u: u.cpu() is u,
    "materialize": lambda u: (
        u.materialize((2, 3)),
        type(u).__name__,
        tuple(u.shape),
        u.requires_grad,
        hasattr(u, "persistent"),
    ),
    "copied": lambda u: repr(copy.deepcopy(u)),
    "pickled": lambda u: repr(pickle.loads(pickle.dumps(u))),
}
for kind in ("UninitializedParameter", "UninitializedBuffer"):
    for name, use in USES.items():
        programs(f"{name} of an {kind}")(
            lambda lib, use=use, kind=kind: use(getattr(lib.nn, kind)())
        )


@programs("what it is")
def _(lib):
    nn = lib.nn
    each = nn.UninitializedParameter(), nn.UninitializedBuffer(), nn.Parameter(), nn.Buffer()
    kinds = nn.Parameter, nn.parameter.Buffer, nn.parameter.UninitializedTensorMixin
    return [[isinstance(u, kind) for kind in kinds] + [nn.parameter.is_lazy(u)] for u in each]


@programs("a module registers and casts it")
def _(lib):
    m = lib.nn.Module()
    m.w, m.b = lib.nn.UninitializedParameter(), lib.nn.UninitializedBuffer(persistent=False)
    m.double()
    return (
        [name for name, _ in m.named_parameters()],
        list(m._buffers),
        m._non_persistent_buffers_set,
        str(m.w.dtype).rpartition(".")[2],
        str(m.b.dtype).rpartition(".")[2],
        repr(m.state_dict(keep_vars=True)),
    )


def _loaded(lib, into, source, **options):
    m, n = lib.nn.Module(), lib.nn.Module()
    m.w, n.w = into, source
    try:
        m.load_state_dict(n.state_dict(keep_vars=True), **options)
    except Exception as error:
        return type(error).__name__, str(error)[:32], repr(m.w)
    return repr(m.w).replace("\n", " ")


for assign in (False, True):
    programs(f"loading values into nothing yet, assign={assign}")(
        lambda lib, assign=assign: _loaded(
            lib, lib.nn.UninitializedParameter(), lib.nn.Parameter(lib.ones(2)), assign=assign
        )
    )
    programs(f"loading nothing yet into values, assign={assign}")(
        lambda lib, assign=assign: _loaded(
            lib, lib.nn.Parameter(lib.ones(2)), lib.nn.UninitializedParameter(), assign=assign
        )
    )


@pytest.mark.parametrize(
    "name",
    cpu_only_where(
        programs, lambda each: each.startswith(("device of", "cpu of")), "the device is the cpu"
    ),
)
def test_a_tensor_without_a_shape_does_the_same(name: str) -> None:
    assert_same(programs[name], words=43)


def test_a_pickled_parameter_keeps_its_dtype_where_pytorch_forgets_it() -> None:
    dtypes = {}
    for lib in (dovetail, torch):
        made = lib.nn.UninitializedParameter(dtype=lib.float64)
        dtypes[lib] = pickle.loads(pickle.dumps(made)).dtype
    assert dtypes == {dovetail: dovetail.float64, torch: torch.float32}
