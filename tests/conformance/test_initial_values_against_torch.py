"""``nn.init`` beside PyTorch: what is not random, the order of arguments, and errors."""

import inspect

import pytest
import torch
from devices import cpu_only_where
from same_programs import Programs, assert_same, plain

import dovetail

programs = Programs()


def zeros(lib, *shape):
    return lib.zeros(shape)


CALLS = {
    "eye_": lambda lib, init: init.eye_(zeros(lib, 3, 2)),
    "eye_ of a vector": lambda lib, init: init.eye_(zeros(lib, 3)),
    **{
        f"dirac_ of {shape} in {groups} groups": lambda lib, init, s=shape, g=groups: init.dirac_(
            zeros(lib, *s), g
        )
        for shape, groups in [
            ((3, 2, 3), 1),
            ((4, 2, 3), 2),
            ((4, 2, 4, 3), 1),
            ((4, 3, 2, 2, 3), 2),
            ((2, 3), 1),
            ((4, 2, 3), 3),
        ]
    },
    "orthogonal_ of a vector": lambda lib, init: init.orthogonal_(zeros(lib, 3)),
    "orthogonal_ of nothing": lambda lib, init: init.orthogonal_(zeros(lib, 0, 2)),
    "sparse_ of a vector": lambda lib, init: init.sparse_(zeros(lib, 3), 0.5),
    "sparse_, wholly": lambda lib, init: init.sparse_(zeros(lib, 4, 2), 1.0),
    "sparse_, by columns": lambda lib, init: (
        (init.sparse_(zeros(lib, 10, 3), 0.35) == 0).sum(0).tolist()
    ),
    "trunc_normal_, limits swapped": lambda lib, init: init.trunc_normal_(
        zeros(lib, 2), a=2.0, b=1.0
    ),
    "trunc_normal_, far from the mean": lambda lib, init: (
        bool(((x := init.trunc_normal_(zeros(lib, 99), 5.0, 1.0, 1.0, 2.0)) >= 1).all()),
        bool((x <= 2).all()),
    ),
    "kaiming_normal_ of nothing": lambda lib, init: init.kaiming_normal_(zeros(lib, 0, 3)),
    "xavier_normal_ of a vector": lambda lib, init: init.xavier_normal_(zeros(lib, 3)),
    "an unknown mode": lambda lib, init: init.kaiming_uniform_(zeros(lib, 3, 3), mode="fan"),
    "an unknown nonlinearity": lambda lib, init: init.kaiming_normal_(
        zeros(lib, 3, 3), nonlinearity="none"
    ),
    "fans": lambda lib, init: (
        init._calculate_fan_in_and_fan_out(zeros(lib, 3, 4, 2)),
        init._calculate_correct_fan(zeros(lib, 3, 4, 2), "FAN_OUT"),
    ),
    "gains": lambda lib, init: [
        float(init.calculate_gain(name))
        for name in ("linear", "conv_transpose3d", "sigmoid", "tanh", "relu", "leaky_relu", "selu")
    ],
    "a gain of a slope": lambda lib, init: init.calculate_gain("leaky_relu", 0.3),
    "a gain of a bool": lambda lib, init: init.calculate_gain("leaky_relu", True),
    "an unknown gain": lambda lib, init: init.calculate_gain("gelu"),
    "constant of old": lambda lib, init: init.constant(zeros(lib, 2), 3.0),
    "ones_ of what requires grad": lambda lib, init: (
        init.ones_(lib.zeros(2, requires_grad=True)).requires_grad
    ),
}
OLD = "dirac eye kaiming_normal kaiming_uniform normal orthogonal uniform xavier_normal"
for name, call in CALLS.items():
    programs(name)(lambda lib, call=call: plain(call(lib, lib.nn.init)))
for name in [*OLD.split(), "xavier_uniform"]:
    programs(f"{name} of old")(
        lambda lib, name=name: (
            (made := getattr(lib.nn.init, name))(
                zeros(lib, 3, 2, 2)[:, :, 0] if name == "eye" else zeros(lib, 3, 2, 2)
            ).shape[0],
            made.__name__,
        )
    )


DRAWS = {
    "uniform_": {"a": -1.0, "b": 2.0},
    "normal_": {"mean": 1.0},
    "trunc_normal_": {"a": -1.0, "b": 0.5},
    "kaiming_uniform_": {"mode": "fan_out"},
    "kaiming_normal_": {"nonlinearity": "relu"},
    "xavier_uniform_": {"gain": 2.0},
    "xavier_normal_": {},
    "orthogonal_": {"gain": 2},
    "sparse_": {"sparsity": 0.4},
}


def drawn(lib, name, options):
    lib.manual_seed(0)
    return plain(getattr(lib.nn.init, name)(zeros(lib, 5, 4), **options), 4)


for name, options in DRAWS.items():
    programs(f"{name} draws")(lambda lib, name=name, options=options: drawn(lib, name, options))
programs("trunc_normal_ draws far from the mean")(
    lambda lib: drawn(lib, "trunc_normal_", {"mean": 4.0, "a": 1.0, "b": 2.0})
)


@pytest.mark.parametrize(
    "name", cpu_only_where(programs, lambda each: "draws" in each, "it draws numbers")
)
def test_initial_values_are_set_alike(name: str) -> None:
    assert_same(programs[name], words=29, warns=True)


def test_names_and_signatures_are_those_of_pytorch() -> None:
    theirs = {
        name: value
        for name, value in vars(torch.nn.init).items()
        if inspect.isfunction(value) and value.__module__ == "torch.nn.init" and name[0] != "_"
    }
    assert set(dovetail.nn.init.__all__) == set(theirs)
    for name, function in theirs.items():
        if name.endswith("_"):
            ours, others = (
                [(p.name, p.default) for p in inspect.signature(each).parameters.values()]
                for each in (getattr(dovetail.nn.init, name), function)
            )
            assert ours == others, name
