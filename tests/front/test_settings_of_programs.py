"""Settings of a whole program, `_check` and its kin, `apply_`, `map_` and `map2_`."""

import pytest

import dovetail


@pytest.fixture(autouse=True)
def settings_come_back():
    yield
    dovetail.set_deterministic_debug_mode(0)
    dovetail.set_float32_matmul_precision("highest")
    dovetail.set_warn_always(False)


@pytest.mark.cpu_only(reason="a warning is issued where there is CUDA")
def test_deterministic_algorithms_are_asked_for_in_every_form():
    for ask, expected in [
        (lambda: dovetail.use_deterministic_algorithms(True), 2),
        (lambda: dovetail.use_deterministic_algorithms(True, warn_only=True), 1),
        (lambda: dovetail.use_deterministic_algorithms(False), 0),
        (lambda: dovetail.set_deterministic_debug_mode("error"), 2),
        (lambda: dovetail.set_deterministic_debug_mode(1), 1),
    ]:
        ask()
        assert dovetail.get_deterministic_debug_mode() == expected
        assert dovetail.are_deterministic_algorithms_enabled() == (expected > 0)
        assert dovetail.is_deterministic_algorithms_warn_only_enabled() == (expected == 1)


@pytest.mark.parametrize(
    ("call", "error", "reason"),
    [
        (lambda: dovetail.use_deterministic_algorithms(3), TypeError, "must be bool, not int"),
        (lambda: dovetail.set_deterministic_debug_mode("x"), RuntimeError, "expected one of"),
        (lambda: dovetail.set_deterministic_debug_mode(5), RuntimeError, "expected 0, 1, or 2"),
        (lambda: dovetail.set_deterministic_debug_mode(1.5), TypeError, "must be str or int"),
        (lambda: dovetail.set_warn_always(3), RuntimeError, "expects a bool, but got int"),
        (lambda: dovetail.set_num_threads(0), RuntimeError, "expects a positive integer"),
        (lambda: dovetail.set_num_threads("a"), RuntimeError, "expects an int, but got str"),
    ],
    ids=range(7),
)
def test_settings_that_are_none_are_refused(call, error, reason):
    with pytest.raises(error, match=reason):
        call()
    assert dovetail.get_deterministic_debug_mode() == 0


def test_other_settings_are_kept_or_say_that_they_do_nothing():
    dovetail.set_float32_matmul_precision("high")
    assert dovetail.get_float32_matmul_precision() == "high"
    with pytest.warns(UserWarning, match="x is not one of"):
        dovetail.set_float32_matmul_precision("x")
    assert dovetail.get_float32_matmul_precision() == "high"
    dovetail.set_warn_always(True)
    assert dovetail.is_warn_always_enabled()
    before = dovetail.get_num_threads()
    assert before >= 1
    try:
        dovetail.set_num_threads(3)
        assert dovetail.get_num_threads() == 3
    finally:
        dovetail.set_num_threads(before)
    with pytest.warns(UserWarning, match="is deprecated"):
        dovetail.set_default_tensor_type("torch.DoubleTensor")
    assert dovetail.get_default_dtype() is dovetail.float64
    with pytest.warns(UserWarning, match="is deprecated"):
        dovetail.set_default_tensor_type(dovetail.FloatTensor)
    assert dovetail.get_default_dtype() is dovetail.float32


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("_check", RuntimeError),
        ("_check_index", IndexError),
        ("_check_value", ValueError),
        ("_check_type", TypeError),
        ("_check_not_implemented", NotImplementedError),
    ],
)
def test_a_check_raises_its_error_with_the_message_that_it_asks_for(name, error):
    check = getattr(dovetail, name)
    check(True, lambda: pytest.fail("asked for"))
    with pytest.raises(error, match=r"^three 3$"):
        check(False, lambda: f"three {3}")
    with pytest.raises(error, match="Expected cond to be True, but got False"):
        check(False)
    with pytest.raises(TypeError, match="message must be a callable"):
        check(False, "text")
    with pytest.raises(TypeError, match="cond must be a bool"):
        check(1)
    with pytest.raises(TypeError, match="_check_tensor_all"):
        check(dovetail.tensor(True))


def test_checks_of_tensors_and_sizes():
    dovetail._check_tensor_all(dovetail.tensor([True, True]))
    with pytest.raises(RuntimeError, match=r"^no$"):
        dovetail._check_tensor_all(dovetail.tensor([True, False]), lambda: "no")
    with pytest.raises(TypeError, match="cond must be a tensor"):
        dovetail._check_tensor_all(True)
    with pytest.raises(TypeError, match=r"must have dtype dovetail\.bool"):
        dovetail._check_tensor_all(dovetail.ones(2))
    with pytest.raises(KeyError):
        dovetail._check_with(KeyError, False)
    with pytest.warns(FutureWarning, match="_check_is_size will be removed"):
        dovetail._check_is_size(3, max=3)
    with (
        pytest.warns(FutureWarning, match="will be removed"),
        pytest.raises(RuntimeError, match=r"^negative$"),
    ):
        dovetail._check_is_size(-1, lambda: "negative")


@pytest.mark.cpu_only(reason="they are for the cpu alone")
def test_python_functions_replace_elements():
    x = dovetail.ones(2, 3)
    assert x.apply_(lambda each: each + 1) is x
    assert x.tolist() == [[2.0] * 3] * 2
    x.map_(dovetail.arange(3.0), lambda a, b: a * b)
    assert x.tolist() == [[0.0, 2.0, 4.0]] * 2
    x.map2_(x, dovetail.ones(2, 1), lambda a, b, c: a + b + c)
    assert x.tolist() == [[1.0, 5.0, 9.0]] * 2
    assert dovetail.ones(2, dtype=dovetail.int64).apply_(lambda each: 2.7).tolist() == [2, 2]
    assert dovetail.ones(1, dtype=dovetail.bfloat16).apply_(lambda each: 3).tolist() == [3.0]
    assert dovetail.ones(1, dtype=dovetail.complex64).apply_(lambda each: each * 1j).tolist() == [
        1j
    ]
    assert dovetail.ones(2).t().is_pinned() is False


@pytest.mark.cpu_only(reason="they are for the cpu alone")
@pytest.mark.parametrize(
    ("call", "error", "reason"),
    [
        (lambda x: x.apply_(lambda each: "a"), TypeError, "must be real number, not str"),
        (lambda x: x.apply_(lambda each: None), TypeError, "must be real number, not NoneType"),
        (lambda x: x.apply_(5), TypeError, "'int' object is not callable"),
        (lambda x: x.clone().requires_grad_().apply_(abs), RuntimeError, "Can't call apply_"),
        (lambda x: x.map_(x.clone().requires_grad_(), max), RuntimeError, "Can't call map_"),
        (lambda x: x.map_(x.double(), max), TypeError, "expected dovetail.FloatTensor"),
        (lambda x: x.map_(dovetail.ones(3), max), RuntimeError, "expanded size"),
        (lambda x: x.map2_(x, 5, max), TypeError, "argument 2 must be Tensor, not int"),
        (lambda x: x.pin_memory(), RuntimeError, "no page-locked memory"),
    ],
    ids=range(9),
)
def test_what_can_not_be_replaced_is_refused_and_stays(call, error, reason):
    x = dovetail.ones(2)
    with pytest.raises(error, match=reason):
        call(x)
    assert x.tolist() == [1.0, 1.0]
