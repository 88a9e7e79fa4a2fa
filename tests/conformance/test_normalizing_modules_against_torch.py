"""Modules that normalise or drop: what they print, keep, give and refuse is what PyTorch's do."""

from __future__ import annotations

from typing import Any

import pytest
from same_programs import Programs, assert_same, tried

MODULES = {
    "BatchNorm1d": lambda nn: nn.BatchNorm1d(3),
    "BatchNorm1d, all batches alike": lambda nn: nn.BatchNorm1d(3, momentum=None),
    "BatchNorm1d without weights": lambda nn: nn.BatchNorm1d(3, affine=False),
    "BatchNorm1d without bias": lambda nn: nn.BatchNorm1d(3, bias=False),
    "BatchNorm1d without statistics": lambda nn: nn.BatchNorm1d(3, track_running_stats=False),
    "InstanceNorm1d": lambda nn: nn.InstanceNorm1d(3),
    "InstanceNorm1d with all": lambda nn: nn.InstanceNorm1d(
        3, affine=True, track_running_stats=True
    ),
    "GroupNorm": lambda nn: nn.GroupNorm(3, 3),
    "GroupNorm of one group": lambda nn: nn.GroupNorm(1, 3, eps=1e-3, bias=False),
    "RMSNorm": lambda nn: nn.RMSNorm(4),
    "RMSNorm of two dimensions": lambda nn: nn.RMSNorm((3, 4), eps=0.1, elementwise_affine=False),
    "LocalResponseNorm": lambda nn: nn.LocalResponseNorm(2, alpha=0.5),
    "PairwiseDistance": lambda nn: Distance(nn, nn.PairwiseDistance(3.0, keepdim=True)),
    "CosineSimilarity": lambda nn: Distance(nn, nn.CosineSimilarity(2)),
}


class Distance:
    """A distance from the first sample, as a module of one argument."""

    def __init__(self, nn: Any, module: Any) -> None:
        self.module = module

    def __call__(self, x: Any) -> Any:
        return self.module(x, x[:1])

    def __repr__(self) -> str:
        return repr(self.module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)


def sample(lib: Any) -> Any:
    return (lib.arange(24, dtype=lib.float32) * 0.7).sin().reshape(2, 3, 4)


def printed(lib: Any, make: Any) -> Any:
    module = make(lib.nn)
    return repr(module), [(name, tuple(x.shape)) for name, x in module.state_dict().items()]


def values(lib: Any, make: Any) -> Any:
    """Return what a module gives in training and evaluation, and what it keeps."""
    module, x = make(lib.nn), sample(lib)
    found = [module(x * (step + 1) + step) for step in range(3)]
    module.eval()
    found += [module(x), *module.state_dict().values()]
    return lib.cat([each.detach().double().reshape(-1) for each in found])


REFUSED = {
    "a vector": lambda nn, x: nn.BatchNorm1d(3)(x[0, 0]),
    "a batch of vectors in two dimensions": lambda nn, x: nn.BatchNorm2d(3)(x),
    "channels of one sample": lambda nn, x: nn.BatchNorm3d(3)(x),
    "instances that are vectors": lambda nn, x: nn.InstanceNorm2d(3)(x[0]),
    "instances of other channels": lambda nn, x: nn.InstanceNorm1d(5, affine=True)(x),
    "groups that do not divide": lambda nn, x: nn.GroupNorm(2, 3),
    "no probability": lambda nn, x: nn.Dropout2d(2),
    "a vector that loses channels": lambda nn, x: nn.Dropout1d()(x[0, 0]),
}

DROPOUTS = ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"]

PROGRAMS = Programs()
for name, make in MODULES.items():
    PROGRAMS[f"{name}, printed"] = lambda lib, make=make: printed(lib, make)
    PROGRAMS[name] = lambda lib, make=make: values(lib, make)
for name, call in REFUSED.items():
    PROGRAMS[name] = lambda lib, call=call: tried(lambda: call(lib.nn, sample(lib)))
for name in DROPOUTS:
    PROGRAMS[name] = lambda lib, name=name: (
        repr(getattr(lib.nn, name)(0.25)),
        getattr(lib.nn, name)().eval()(lib.ones(2, 3, 4, 5)).sum().item(),
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_module_does_what_pytorchs_does(name: str) -> None:
    assert_same(PROGRAMS[name], close=True)
