"""`dovetail.nn` beside `torch.nn`: outputs, gradients, printed forms, state dict keys, hook order
and errors.
"""

import copy
import warnings

import numpy as np
import pytest
import torch
from devices import without_device

import dovetail

BOTH = (torch, dovetail)


def array(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def tensors(values):
    """The same values as a tensor of each library."""
    return torch.from_numpy(values.copy()), dovetail.tensor(values)


def same_weights(theirs, ours):
    """Give our module the values of theirs."""
    ours.load_state_dict(
        {
            name: dovetail.from_numpy(value.cpu().numpy().copy())
            for name, value in theirs.state_dict().items()
        }
    )


def assert_close(theirs, ours):
    np.testing.assert_allclose(
        ours.detach().cpu().numpy(), theirs.detach().numpy(), rtol=1e-5, atol=1e-6
    )


def outcome(call, library):
    """The type and text of what a call raises, with the library's own name taken out."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = call(library)
    except Exception as error:
        return type(error), str(error).replace("dovetail", "torch")
    raise AssertionError(f"nothing was raised, but {result!r} returned")


MODULES = {
    "Linear": (lambda t: t.nn.Linear(3, 4), (2, 3)),
    "Linear without bias": (lambda t: t.nn.Linear(3, 4, bias=False), (5, 2, 3)),
    "ReLU": (lambda t: t.nn.ReLU(), (2, 3)),
    "PReLU": (lambda t: t.nn.PReLU(3), (2, 3)),
    "Sigmoid": (lambda t: t.nn.Sigmoid(), (2, 3)),
    "LogSigmoid": (lambda t: t.nn.LogSigmoid(), (2, 3)),
    "Tanh": (lambda t: t.nn.Tanh(), (2, 3)),
    "GELU": (lambda t: t.nn.GELU(), (2, 3)),
    "GELU tanh": (lambda t: t.nn.GELU(approximate="tanh"), (2, 3)),
    "SiLU": (lambda t: t.nn.SiLU(), (2, 3)),
    "LeakyReLU": (lambda t: t.nn.LeakyReLU(0.2), (2, 3)),
    "ELU": (lambda t: t.nn.ELU(0.7), (2, 3)),
    "Softplus": (lambda t: t.nn.Softplus(2.0, 1.0), (2, 3)),
    "Softmax": (lambda t: t.nn.Softmax(dim=-1), (2, 3)),
    "LogSoftmax": (lambda t: t.nn.LogSoftmax(dim=0), (2, 3)),
    "Dropout in eval": (lambda t: t.nn.Dropout(0.3).eval(), (2, 3)),
    "LayerNorm": (lambda t: t.nn.LayerNorm(3), (2, 3)),
    "LayerNorm over two": (lambda t: t.nn.LayerNorm([2, 3], bias=False, eps=1e-3), (4, 2, 3)),
    "Flatten": (lambda t: t.nn.Flatten(), (2, 3, 4)),
    "Unflatten": (lambda t: t.nn.Unflatten(-1, (2, 2)), (3, 4)),
    "Identity": (lambda t: t.nn.Identity(), (2, 3)),
    "Sequential": (
        lambda t: t.nn.Sequential(
            t.nn.Linear(3, 5), t.nn.Tanh(), t.nn.LayerNorm(5), t.nn.Linear(5, 2)
        ),
        (4, 3),
    ),
}


@pytest.mark.parametrize("name", MODULES)
def test_outputs_and_gradients_agree(name):
    make, shape = MODULES[name]
    theirs, ours = make(torch), make(dovetail)
    same_weights(theirs, ours)
    x, y = (tensor.requires_grad_() for tensor in tensors(array(*shape)))
    out_theirs, out_ours = theirs(x), ours(y)
    assert_close(out_theirs, out_ours)
    weights = tensors(array(*out_theirs.shape, seed=1))
    (out_theirs * weights[0]).sum().backward()
    (out_ours * weights[1]).sum().backward()
    assert_close(x.grad, y.grad)
    for (key, p), (other, q) in zip(
        theirs.named_parameters(), ours.named_parameters(), strict=True
    ):
        assert key == other
        assert_close(p.grad, q.grad)


@pytest.mark.parametrize("name", MODULES)
def test_printed_forms_and_state_dict_keys_agree(name):
    theirs, ours = (MODULES[name][0](library) for library in BOTH)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert ours.state_dict()._metadata == theirs.state_dict()._metadata


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.nn.Embedding(3, 4, padding_idx=0),
        lambda t: t.nn.ModuleList([t.nn.Linear(1, 1), t.nn.Linear(1, 1), t.nn.ReLU(inplace=True)]),
        lambda t: t.nn.ModuleDict({"a": t.nn.Sequential(t.nn.Identity())}),
        lambda t: t.nn.ParameterDict({"b": 5}),
        lambda t: t.nn.CrossEntropyLoss(),
        lambda t: t.nn.LeakyReLU(0.1, True),
        lambda t: t.nn.Module(),
        lambda t: t.nn.Parameter(t.ones(2)),
        lambda t: t.nn.Linear(1, 1).load_state_dict({}, strict=False),
    ],
)
def test_more_printed_forms_agree(make):
    theirs, ours = (repr(make(library)) for library in BOTH)
    assert without_device(ours) == theirs


def test_embedding_agrees():
    theirs, ours = (t.nn.Embedding(4, 3, padding_idx=1) for t in BOTH)
    same_weights(theirs, ours)
    for module, t in ((theirs, torch), (ours, dovetail)):
        module(t.tensor([[0, 1], [3, 0]])).pow(2).sum().backward()
    assert_close(theirs.weight.grad, ours.weight.grad)


LOSSES = {
    "cross entropy": (lambda t: t.nn.CrossEntropyLoss(), "classes"),
    "cross entropy, weighted, smoothed": (
        lambda t: t.nn.CrossEntropyLoss(
            weight=t.tensor([0.5, 1.0, 2.0]), ignore_index=1, label_smoothing=0.1
        ),
        "classes",
    ),
    "cross entropy, sum": (lambda t: t.nn.CrossEntropyLoss(reduction="sum"), "classes"),
    "cross entropy, none": (lambda t: t.nn.CrossEntropyLoss(reduction="none"), "classes"),
    "cross entropy, probabilities": (lambda t: t.nn.CrossEntropyLoss(), "probabilities"),
    "nll": (lambda t: t.nn.NLLLoss(weight=t.tensor([0.5, 1.0, 2.0])), "classes"),
    "mse": (lambda t: t.nn.MSELoss(), "probabilities"),
    "l1": (lambda t: t.nn.L1Loss(reduction="sum"), "probabilities"),
    "smooth l1": (lambda t: t.nn.SmoothL1Loss(beta=0.3), "probabilities"),
    "bce with logits": (
        lambda t: t.nn.BCEWithLogitsLoss(pos_weight=t.tensor([0.5, 1.0, 2.0])),
        "probabilities",
    ),
}


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x: t.nn.functional.pad(x, (1, 2)),
        lambda t, x: t.nn.functional.pad(x, (0, 0, 1, 0), value=3.0),
        lambda t, x: t.nn.functional.pad(x, (1, -1)),
        lambda t, x: t.nn.functional.pad(x[None], (1, 1), mode="reflect"),
        lambda t, x: t.nn.functional.one_hot(x.long()),
        lambda t, x: t.nn.functional.one_hot(x.long(), 12),
    ],
)
def test_padding_and_one_hot_agree(call):
    theirs, ours = (call(t, t.arange(6.0).reshape(2, 3)) for t in BOTH)
    assert_close(theirs, ours)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_and_their_gradients_agree(name):
    make, kind = LOSSES[name]
    x, y = (tensor.requires_grad_() for tensor in tensors(array(4, 3)))
    if kind == "classes":
        targets = [library.tensor([0, 2, 1, 2]) for library in BOTH]
    else:
        targets = tensors(np.random.default_rng(2).dirichlet([1, 1, 1], 4).astype(np.float32))
    theirs, ours = make(torch)(x, targets[0]), make(dovetail)(y, targets[1])
    assert_close(theirs, ours)
    theirs.sum().backward()
    ours.sum().backward()
    assert_close(x.grad, y.grad)


def test_nll_loss_of_images_agrees():
    x, y = tensors(array(2, 3, 4, 5))
    theirs = torch.nn.functional.nll_loss(x, torch.ones(2, 4, 5, dtype=torch.int64))
    ours = dovetail.nn.functional.nll_loss(y, dovetail.ones(2, 4, 5, dtype=dovetail.int64))
    assert_close(theirs, ours)


def test_clipping_agrees():
    grads = []
    for library in BOTH:
        parameters = [library.nn.Parameter(library.zeros(3)) for _ in range(2)]
        for seed, parameter in enumerate(parameters):
            parameter.grad = library.tensor(array(3, seed=seed))
        norm = library.nn.utils.clip_grad_norm_(parameters, 0.5)
        grads.append([norm.item(), *(value for p in parameters for value in p.grad.tolist())])
    assert grads[1] == pytest.approx(grads[0], rel=1e-5)


def hook_trace(t, requires_grad):
    calls = []

    def shape(values):
        return [None if value is None else tuple(value.shape) for value in values]

    class Two(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = t.nn.Linear(2, 3), t.nn.Linear(3, 1)

        def forward(self, x):
            return self.b(self.a(x))

    model = Two()
    for name, module in model.named_modules():
        module.register_forward_pre_hook(lambda m, args, name=name: calls.append((name, "pre")))
        module.register_forward_hook(lambda m, args, out, name=name: calls.append((name, "fwd")))
        module.register_full_backward_pre_hook(
            lambda m, out, name=name: calls.append((name, "bpre", shape(out)))
        )
        module.register_full_backward_hook(
            lambda m, grad_in, out, name=name: calls.append(
                (name, "bwd", shape(grad_in), shape(out))
            )
        )
    for name, parameter in model.named_parameters():
        parameter.register_hook(lambda grad, name=name: calls.append((name, "param")))
    model(t.ones(4, 2, requires_grad=requires_grad)).sum().backward()
    return calls


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
@pytest.mark.parametrize("requires_grad", [True, False])
def test_hooks_run_in_the_same_order_with_the_same_gradients(requires_grad):
    theirs, ours = (hook_trace(library, requires_grad) for library in BOTH)
    # Parameters of one layer become ready together; their order is the engine's.
    assert [call for call in ours if call[1] != "param"] == [
        call for call in theirs if call[1] != "param"
    ]
    assert sorted(call[0] for call in ours if call[1] == "param") == sorted(
        call[0] for call in theirs if call[1] == "param"
    )


def mixed(t):
    class Mixed(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.p = t.nn.Parameter(t.ones(1))
            self.l = t.nn.Linear(1, 1)
            self.register_buffer("b", t.zeros(2))

    return Mixed()


def unready(value):
    def make(t):
        class Unready(t.nn.Module):
            def __init__(self):
                self.x = value(t)

        return Unready()

    return make


def hooked_pre(t):
    module = t.nn.Identity()
    module.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    return module(1)


def hooked_output(t):
    module = t.nn.Linear(1, 1)
    module.register_full_backward_hook(lambda *args: None)
    return module(t.ones(1, 1)).add_(1)


# Each case: what is done, and the key words that both messages must contain.
ERRORS = {
    "parameter before init": (
        unready(lambda t: t.nn.Parameter(t.ones(1))),
        "cannot assign parameters before",
    ),
    "module before init": (
        unready(lambda t: t.nn.Identity()),
        "cannot assign module before Module.__init__() call",
    ),
    "tensor as parameter": (
        lambda t: setattr(mixed(t), "p", t.ones(1)),
        "as parameter 'p' (torch.nn.Parameter or None",
    ),
    "int as module": (
        lambda t: setattr(mixed(t), "l", 3),
        "cannot assign 'int' as child module 'l'",
    ),
    "int as buffer": (lambda t: setattr(mixed(t), "b", 3), "cannot assign 'int' as buffer 'b'"),
    "dot in parameter": (
        lambda t: mixed(t).register_parameter("a.b", None),
        'parameter name can\\\'t contain "."',
    ),
    "dot in buffer": (
        lambda t: mixed(t).register_buffer("a.b", None),
        'buffer name can\\\'t contain "."',
    ),
    "dot in module": (
        lambda t: mixed(t).add_module("a.b", None),
        'module name can\\\'t contain ".", got: a.b',
    ),
    "empty name": (
        lambda t: mixed(t).register_parameter("", None),
        'parameter name can\\\'t be empty string ""',
    ),
    "name no string": (
        lambda t: mixed(t).register_parameter(3, None),
        "parameter name should be a string. Got int",
    ),
    "name taken": (
        lambda t: mixed(t).register_parameter("forward", None),
        "attribute 'forward' already exists",
    ),
    "parameter of tensor": (
        lambda t: mixed(t).register_parameter("x", t.ones(1)),
        "object to parameter 'x'",
    ),
    "no attribute": (lambda t: mixed(t).zz, "'Mixed' object has no attribute 'zz'"),
    "no parameter": (lambda t: mixed(t).get_parameter("l.zz"), "Linear has no attribute `zz`"),
    "not a parameter": (lambda t: mixed(t).get_parameter("b"), "`b` is not an nn.Parameter"),
    "not a buffer": (lambda t: mixed(t).get_buffer("p"), "`p` is not a buffer"),
    "not a module": (lambda t: mixed(t).get_submodule("p"), "`p` is not an nn.Module"),
    "no forward": (
        lambda t: t.nn.Module()(1),
        'Module [Module] is missing the required "forward" function',
    ),
    "list has no forward": (
        lambda t: t.nn.ModuleList()(1),
        'Module [ModuleList] is missing the required "forward"',
    ),
    "pre-hook result": (
        hooked_pre,
        "forward pre-hook must return None or a tuple of (new_args, new_kwargs)",
    ),
    "in place on output": (
        hooked_output,
        "Output 0 of BackwardHookFunction is a view and is being modified inplace",
    ),
    "missing key": (
        lambda t: mixed(t).load_state_dict({}),
        "Error(s) in loading state_dict for Mixed:\n\tMissing key(s)",
    ),
    "unexpected key": (
        lambda t: t.nn.Identity().load_state_dict({"q": 1}),
        'Error(s) in loading state_dict for Identity:\n\tUnexpected key(s) in state_dict: "q". ',
    ),
    "size mismatch": (
        lambda t: t.nn.Linear(1, 1).load_state_dict({"weight": t.ones(3)}, strict=False),
        "size mismatch for weight: copying a param with shape torch.Size([3]) from checkpoint, "
        "the shape in current "
        "model is torch.Size([1, 1]).",
    ),
    "no state dict": (lambda t: mixed(t).load_state_dict(3), "Expected state_dict to be dict-like"),
    "mode no bool": (lambda t: mixed(t).train(1), "training mode is expected to be boolean"),
    "to an integer dtype": (
        lambda t: mixed(t).to(t.int32),
        "nn.Module.to only accepts floating point or complex dtypes",
    ),
    "copy of meta": (
        lambda t: t.nn.Linear(1, 1, device="meta").to("cpu"),
        "Cannot copy out of meta tensor; no data!",
    ),
    "integer parameter": (
        lambda t: t.nn.Parameter(t.tensor([1])),
        "Only Tensors of floating point and complex dtype",
    ),
    "dropout": (
        lambda t: t.nn.Dropout(2.0),
        "dropout probability has to be between 0 and 1, but got 2.0",
    ),
    "padding": (
        lambda t: t.nn.Embedding(1, 1, padding_idx=5),
        "Padding_idx must be within num_embeddings",
    ),
    "reduction": (
        lambda t: t.nn.MSELoss(reduction="x")(t.ones(1), t.ones(1)),
        "x is not a valid value for reduction",
    ),
    "index": (lambda t: t.nn.Sequential()[3], "index 3 is out of range"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_have_the_same_type_and_key_words(name):
    call, words = ERRORS[name]
    (their_type, their_text), (our_type, our_text) = (outcome(call, library) for library in BOTH)
    assert our_type is their_type
    assert words in their_text
    assert words in our_text


def test_moves_keep_the_same_things():
    seen = []
    for t in BOTH:
        model = mixed(t)
        weight, buffer = model.l.weight, model.b
        model.double()
        seen.append((model.l.weight is weight, model.b is buffer, str(model.b.dtype).split(".")[1]))
    assert seen[1] == seen[0]


def test_deepcopied_parameters_lose_the_same_things():
    seen = []
    for t in BOTH:
        parameter = t.nn.Parameter(t.ones(2))
        parameter.grad = t.ones(2)
        parameter.note = 1
        copied = copy.deepcopy(parameter)
        seen.append((type(copied) is type(parameter), copied.grad, hasattr(copied, "note")))
    assert seen[1] == seen[0]
