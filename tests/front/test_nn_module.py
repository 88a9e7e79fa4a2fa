"""`nn.Module`: attributes, registration, traversal, modes, moves, printing and copying."""

import copy
import pickle

import pytest

import dovetail
from dovetail import nn


class Mixed(nn.Module):
    """One of each: a parameter, a submodule, a buffer, a non-persistent buffer and an empty
    buffer.
    """

    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(dovetail.ones(1))
        self.l = nn.Linear(1, 1)
        self.register_buffer("b", dovetail.zeros(2))
        self.register_buffer("temporary", dovetail.zeros(1), persistent=False)
        self.register_buffer("nothing", None)

    def forward(self, x):
        return self.l(x) * self.p


class Unready(nn.Module):
    def __init__(self, value):
        self.attribute = value


# Attributes


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            lambda: nn.Parameter(dovetail.ones(1)),
            r"cannot assign parameters before Module.__init__\(\) call",
        ),
        (lambda: nn.Linear(1, 1), r"cannot assign module before Module.__init__\(\) call"),
        (
            lambda: nn.Buffer(dovetail.ones(1)),
            r"cannot assign buffer before Module.__init__\(\) call",
        ),
    ],
)
def test_assigning_before_init_is_an_attribute_error(value, message):
    with pytest.raises(AttributeError, match=message):
        Unready(value())


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "p",
            lambda: dovetail.ones(1),
            r"cannot assign '.*FloatTensor' as parameter 'p' \(.*nn.Parameter or None",
        ),
        ("p", lambda: 3, r"cannot assign 'int' as parameter 'p'"),
        (
            "l",
            lambda: 3,
            r"cannot assign 'int' as child module 'l' \(.*nn.Module or None expected\)",
        ),
        ("b", lambda: 3, r"cannot assign 'int' as buffer 'b' \(.*Tensor or None expected\)"),
    ],
)
def test_a_registered_name_refuses_another_kind(name, value, message):
    module = Mixed()
    before = getattr(module, name)
    with pytest.raises(TypeError, match=message):
        setattr(module, name, value())
    assert getattr(module, name) is before


@pytest.mark.parametrize("name", ["p", "l", "b"])
def test_a_registered_name_accepts_none(name):
    module = Mixed()
    setattr(module, name, None)
    assert getattr(module, name) is None


def test_assigning_a_parameter_over_a_plain_attribute_registers_it():
    module = Mixed()
    module.x = 3
    module.x = nn.Parameter(dovetail.ones(1))
    assert "x" in module._parameters
    assert "x" not in vars(module)


def test_assigning_a_module_over_a_parameter_moves_the_name():
    module = Mixed()
    module.p = nn.Identity()
    assert "p" not in module._parameters
    assert isinstance(module.p, nn.Identity)


def test_a_missing_attribute_is_named():
    with pytest.raises(AttributeError, match="'Mixed' object has no attribute 'zz'"):
        Mixed().zz  # noqa: B018


def test_deleting_an_attribute_unregisters_it():
    module = Mixed()
    del module.p
    del module.l
    del module.b
    assert list(module.parameters()) == []
    assert not hasattr(module, "b")


def test_assigning_a_buffer_registers_it():
    module = Mixed()
    module.kept = nn.Buffer(dovetail.ones(1))
    module.passing = nn.Buffer(dovetail.ones(1), persistent=False)
    assert {"kept", "passing"} <= {name for name, _ in module.named_buffers()}
    assert "kept" in module.state_dict()
    assert "passing" not in module.state_dict()


def test_dir_lists_what_is_registered():
    assert {"p", "l", "b"} <= set(dir(Mixed()))


# Registration


@pytest.mark.parametrize(
    "register", ["register_parameter", "register_buffer", "add_module", "register_module"]
)
@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        (3, TypeError, "name should be a string. Got int"),
        ("a.b", KeyError, r"name can't contain"),
        ("", KeyError, r"name can't be empty string"),
        ("forward", KeyError, "attribute 'forward' already exists"),
    ],
)
def test_a_bad_name_is_refused(register, name, error, message):
    module = Mixed()
    with pytest.raises(error) as caught:
        getattr(module, register)(name, None)
    assert message in str(caught.value).replace("\\'", "'")


def test_register_parameter_refuses_a_plain_tensor():
    with pytest.raises(TypeError, match=r"cannot assign '.*FloatTensor' object to parameter 'x'"):
        Mixed().register_parameter("x", dovetail.ones(1))


def test_register_parameter_refuses_a_non_leaf():
    parameter = nn.Parameter(dovetail.ones(1))
    doubled = parameter * 2
    doubled._is_param = True
    with pytest.raises(ValueError, match="Cannot assign non-leaf Tensor to parameter 'x'"):
        Mixed().register_parameter("x", doubled)


def test_register_buffer_refuses_a_number():
    with pytest.raises(TypeError, match="cannot assign 'int' object to buffer 'x'"):
        Mixed().register_buffer("x", 3)


def test_add_module_refuses_a_number():
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        Mixed().add_module("x", 3)


# Traversal


def test_parameters_come_own_first_then_depth_first():
    model = nn.Sequential(Mixed(), nn.Linear(1, 1, bias=False))
    assert [name for name, _ in model.named_parameters()] == [
        "0.p",
        "0.l.weight",
        "0.l.bias",
        "1.weight",
    ]


def test_a_shared_parameter_comes_once():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    assert len(list(model.parameters())) == 3
    assert len(list(model.named_parameters(remove_duplicate=False))) == 4


def test_a_shared_module_comes_once():
    shared = nn.Linear(1, 1)
    model = nn.Sequential(shared, shared)
    assert [name for name, _ in model.named_modules()] == ["", "0"]
    assert [name for name, _ in model.named_children()] == ["0"]
    assert [name for name, _ in model.named_modules(remove_duplicate=False)] == ["", "0", "1"]


def test_prefix_and_recurse_are_obeyed():
    assert [name for name, _ in Mixed().named_parameters(prefix="x", recurse=False)] == ["x.p"]


def test_named_buffers_leave_out_none():
    assert [name for name, _ in Mixed().named_buffers()] == ["b", "temporary"]


def test_get_by_dotted_name():
    model = nn.Sequential(Mixed())
    assert model.get_submodule("0.l") is model[0].l
    assert model.get_parameter("0.l.weight") is model[0].l.weight
    assert model.get_buffer("0.b") is model[0].b
    assert model.get_submodule("") is model


@pytest.mark.parametrize(
    ("method", "target", "message"),
    [
        ("get_parameter", "l.zz", "Linear has no attribute `zz`"),
        ("get_parameter", "b", "`b` is not an nn.Parameter"),
        ("get_buffer", "p", "`p` is not a buffer"),
        ("get_submodule", "zz", "Mixed has no attribute `zz`"),
        ("get_submodule", "p", "`p` is not an nn.Module"),
    ],
)
def test_a_wrong_target_is_an_attribute_error(method, target, message):
    with pytest.raises(AttributeError, match=message):
        getattr(Mixed(), method)(target)


def test_apply_visits_children_before_the_module():
    seen = []
    model = nn.Sequential(nn.Linear(1, 1))
    assert model.apply(seen.append) is model
    assert seen == [model[0], model]


# Calling


def test_a_module_without_forward_says_so():
    with pytest.raises(
        NotImplementedError, match=r'Module \[Module\] is missing the required "forward" function'
    ):
        nn.Module()(1)


def test_calling_passes_all_arguments_to_forward():
    class Adder(nn.Module):
        def forward(self, a, *, b):
            return a + b

    assert Adder()(1, b=2) == 3


# Modes and gradients


def test_train_and_eval_are_recursive_and_return_the_module():
    model = nn.Sequential(nn.Dropout())
    assert model.eval() is model
    assert not model[0].training
    assert model.train()[0].training


def test_a_training_mode_that_is_no_bool_is_refused():
    with pytest.raises(ValueError, match="training mode is expected to be boolean"):
        nn.Linear(1, 1).train(1)


def test_requires_grad_freezes_all_parameters():
    model = Mixed()
    assert model.requires_grad_(False) is model
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_zero_grad_sets_to_none_or_to_zero():
    linear = nn.Linear(2, 1)
    linear(dovetail.ones(1, 2)).sum().backward()
    linear.zero_grad(set_to_none=False)
    assert linear.weight.grad.tolist() == [[0.0, 0.0]]
    linear.zero_grad()
    assert linear.weight.grad is None


# Moves


def test_double_keeps_the_parameter_objects():
    model = Mixed()
    before = list(model.parameters())
    assert model.double() is model
    assert all(new is old for new, old in zip(model.parameters(), before, strict=True))
    assert model.l.weight.dtype == dovetail.float64
    assert model.b.dtype == dovetail.float64


def test_casts_leave_integers_alone():
    model = nn.Module()
    model.register_buffer("count", dovetail.tensor([1, 2]))
    assert model.half().count.dtype == dovetail.int64
    assert model.to(dovetail.float64).count.dtype == dovetail.int64


def test_to_casts_gradients_too():
    linear = nn.Linear(2, 1)
    linear(dovetail.ones(1, 2)).sum().backward()
    linear.to(dovetail.float64)
    assert linear.weight.grad.dtype == dovetail.float64
    assert linear.weight.requires_grad


def test_to_takes_a_tensor_as_the_example():
    assert (
        nn.Linear(1, 1).to(dovetail.ones(1, dtype=dovetail.float64)).weight.dtype
        == dovetail.float64
    )


def test_to_takes_device_and_dtype_together():
    linear = nn.Linear(1, 1).to("cpu", dovetail.float64)
    assert linear.weight.dtype == dovetail.float64
    assert linear.weight.device.type == "cpu"


def test_to_refuses_integer_dtypes():
    with pytest.raises(
        TypeError, match=r"nn.Module.to only accepts floating point or complex dtypes"
    ):
        nn.Linear(1, 1).to(dovetail.int32)


def test_to_refuses_nonsense():
    with pytest.raises(TypeError, match=r"to\(\) received an invalid combination of arguments"):
        nn.Linear(1, 1).to(3.5)


def test_type_casts_everything():
    assert nn.Linear(1, 1).type(dovetail.float64).weight.dtype == dovetail.float64


def test_a_moved_module_trains_on():
    linear = nn.Linear(2, 1).double()
    linear(dovetail.ones(1, 2, dtype=dovetail.float64)).sum().backward()
    assert linear.weight.grad.dtype == dovetail.float64


def test_a_meta_module_can_not_be_copied():
    with pytest.raises(
        NotImplementedError, match=r"Cannot copy out of meta tensor; no data!.*to_empty\(\)"
    ):
        nn.Linear(1, 1, device="meta").to("cpu")


def test_to_empty_gives_a_meta_module_data():
    linear = nn.Linear(2, 3, device="meta").to_empty(device="cpu")
    assert linear.weight.device.type == "cpu"
    assert linear.weight.shape == (3, 2)
    assert isinstance(linear.weight, nn.Parameter)


# Parameters and buffers


def test_a_parameter_shares_the_memory_of_its_data():
    data = dovetail.ones(2)
    parameter = nn.Parameter(data)
    data.fill_(5)
    assert parameter.tolist() == [5.0, 5.0]
    assert parameter.requires_grad
    assert parameter.is_leaf


def test_operators_on_a_parameter_give_plain_tensors():
    assert type(nn.Parameter(dovetail.ones(2)) * 2) is dovetail.Tensor
    assert type(nn.Parameter(dovetail.ones(2)).detach()) is dovetail.Tensor


@pytest.mark.cpu_only(reason="the printed form of another device names it")
def test_a_parameter_prints_what_it_contains():
    assert (
        repr(nn.Parameter(dovetail.ones(2)))
        == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    )


def test_an_integer_parameter_can_not_require_gradients():
    with pytest.raises(
        RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"
    ):
        nn.Parameter(dovetail.tensor([1, 2]))
    assert not nn.Parameter(dovetail.tensor([1, 2]), requires_grad=False).requires_grad


def test_a_parameter_of_no_tensor_is_refused():
    with pytest.raises(TypeError, match=r"Parameter\(data\) expects a Tensor, but got int"):
        nn.Parameter(3)


def test_a_parameter_without_data_is_empty():
    assert nn.Parameter().shape == (0,)


def test_deepcopy_of_a_parameter_is_an_independent_parameter():
    parameter = nn.Parameter(dovetail.ones(2))
    copied = copy.deepcopy(parameter)
    parameter.data.fill_(5)
    assert isinstance(copied, nn.Parameter)
    assert copied.tolist() == [1.0, 1.0]


def test_a_parameter_survives_pickling():
    parameter = pickle.loads(pickle.dumps(nn.Parameter(dovetail.ones(2), requires_grad=False)))
    assert isinstance(parameter, nn.Parameter)
    assert not parameter.requires_grad
    assert parameter.tolist() == [1.0, 1.0]


def test_a_buffer_is_a_marked_plain_tensor():
    buffer = nn.Buffer(dovetail.ones(1))
    assert type(buffer) is dovetail.Tensor
    assert isinstance(buffer, nn.Buffer)
    assert not isinstance(dovetail.ones(1), nn.Buffer)


# Copying and printing


def test_deepcopy_keeps_sharing_inside_the_model():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    copied = copy.deepcopy(model)
    assert copied[1].weight is copied[0].weight
    assert copied[0].weight is not model[0].weight


def test_a_deepcopy_computes_the_same():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    x = dovetail.randn(4, 2)
    assert copy.deepcopy(model)(x).tolist() == model(x).tolist()


def test_repr_is_a_tree():
    assert repr(nn.Sequential(nn.Linear(1, 2), nn.ReLU(inplace=True))) == (
        "Sequential(\n  (0): Linear(in_features=1, out_features=2, bias=True)\n  (1): "
        "ReLU(inplace=True)\n)"
    )


def test_repr_of_a_module_with_nothing_is_one_line():
    assert repr(nn.Module()) == "Module()"


def test_extra_repr_of_several_lines_is_indented():
    class Wordy(nn.Module):
        def extra_repr(self):
            return "a\nb"

    assert repr(Wordy()) == "Wordy(\n  a\n  b\n)"


def test_a_class_may_be_made_in_a_namespace_without_a_name():
    namespace = {"nn": nn}
    exec("class Twice(nn.Module):\n    def forward(self, x): return 2 * x", namespace)
    assert namespace["Twice"]()(dovetail.ones(1)).tolist() == [2.0]
