"""Tensors where arrays are expected, and arrays where tensors are: NumPy, pandas, SciPy,
scikit-learn, safetensors.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fresh_interpreter import printed_by

import dovetail
from dovetail.autograd import gradcheck, gradgradcheck

pytestmark = pytest.mark.cpu_only(reason="the libraries keep arrays in the memory of the host")


def test_an_array_that_cannot_be_shared_is_not_copied_unasked() -> None:
    x = dovetail.ones(3)
    shared = np.array(x, copy=False)
    shared[0] = 5
    assert x[0] == 5
    with pytest.raises(ValueError, match=r"Unable to avoid copy .* is not float64"):
        np.array(x, dtype=np.float64, copy=False)


def test_pandas_takes_tensors_and_gives_them() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    x, i = dovetail.tensor([1.0, 4.0, 9.0]), dovetail.tensor([1, 2, 3])
    frame = pandas.DataFrame({"x": x, "i": i})
    assert frame.dtypes.astype(str).tolist() == ["float32", "int64"]
    assert pandas.DataFrame(dovetail.ones(2, 3)).shape == (2, 3)
    column = dovetail.tensor(frame["x"])
    assert column.dtype is dovetail.float32
    assert column.tolist() == x.tolist()
    assert dovetail.as_tensor(frame["i"]).tolist() == [1, 2, 3]
    assert dovetail.tensor(frame).tolist() == [[1.0, 1.0], [4.0, 2.0], [9.0, 3.0]]
    with pytest.raises(RuntimeError, match="requires grad"):
        pandas.Series(dovetail.ones(2, requires_grad=True))
    with pytest.raises(TypeError, match=r"can't convert np\.ndarray of type"):
        dovetail.tensor(pandas.Series(["a", "b"], dtype=object))


def test_a_sparse_matrix_times_a_tensor_has_the_gradient_of_the_tensor() -> None:
    sparse = pytest.importorskip("scipy.sparse", reason="SciPy is not installed")
    values = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0], [4.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
    x = dovetail.rand(3, 2, dtype=dovetail.float64, requires_grad=True)
    dense = dovetail.tensor(values)
    for kind in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        matrix = kind(values)
        found = dovetail.sparse.mm(matrix, x)
        assert dovetail.allclose(found, dense @ x)
        (gradient,) = dovetail.autograd.grad(found.sum(), x)
        assert dovetail.allclose(gradient, dense.T @ dovetail.ones(4, 2, dtype=dovetail.float64))

    def squared(x: Any) -> Any:
        return dovetail.sparse.addmm(x[:1].sum(0), matrix, x * x, beta=0.5, alpha=2)

    assert gradcheck(squared, x, check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(squared, x)
    several = dovetail.rand(5, 3, 2, dtype=dovetail.float64)
    batched = dovetail.vmap(lambda each: dovetail.sparse.mm(matrix, each))(several)
    assert dovetail.allclose(batched, dense @ several)


def test_a_complex_sparse_matrix_is_conjugated_in_the_gradient() -> None:
    sparse = pytest.importorskip("scipy.sparse", reason="SciPy is not installed")
    matrix = sparse.csr_array(np.array([[1 + 2j, 0], [3j, 4]]))
    x = dovetail.rand(2, 1, dtype=dovetail.complex128, requires_grad=True)
    assert gradcheck(lambda x: dovetail.sparse.mm(matrix, x), x)


def test_what_a_sparse_product_cannot_take_is_refused() -> None:
    sparse = pytest.importorskip("scipy.sparse", reason="SciPy is not installed")
    matrix = sparse.csr_array(np.eye(3))
    with pytest.raises(RuntimeError, match="same dtype, but got: float64 != dovetail"):
        dovetail.sparse.mm(matrix, dovetail.ones(3, 2))
    with pytest.raises(RuntimeError, match=r"cannot be multiplied \(3x3 and 2x3\)"):
        dovetail.sparse.mm(matrix, dovetail.ones(2, 3))
    with pytest.raises(RuntimeError, match=r"a vector becomes one by x\[:, None\]"):
        dovetail.sparse.mm(matrix, dovetail.ones(3, dtype=dovetail.float64))
    with pytest.raises(TypeError, match="'mat1' must be a sparse tensor, or a sparse matrix of"):
        dovetail.sparse.mm(np.eye(3), dovetail.ones(3, 2))
    with pytest.raises(TypeError, match="'mat2' must be Tensor, not ndarray"):
        dovetail.sparse.mm(matrix, np.eye(3))


@pytest.mark.parametrize("name", ["spsolve", "to_sparse_coo"])
def test_other_names_of_sparse_tensors_say_which_are_there(name: str) -> None:
    with pytest.raises(AttributeError, match=r"for other functions to_dense\(\)"):
        getattr(dovetail.sparse, name)


def test_scikit_learn_takes_tensors_as_arrays() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is missing")
    preprocessing = pytest.importorskip("sklearn.preprocessing", reason="scikit-learn is missing")
    dovetail.manual_seed(0)
    x = dovetail.randn(60, 3)
    y = (x[:, 0] - x[:, 1] > 0).long()
    scaled = preprocessing.StandardScaler().fit_transform(x)
    assert scaled.shape == (60, 3)
    fitted = linear_model.LogisticRegression().fit(x, y)
    assert fitted.score(x, y) > 0.95
    same = linear_model.LogisticRegression().fit(x.numpy(), y.numpy())
    assert np.array_equal(fitted.predict(x), same.predict(x.numpy()))
    chances = dovetail.tensor(fitted.predict_proba(x))
    assert dovetail.allclose(chances.sum(1), dovetail.ones(60, dtype=chances.dtype))


def test_safetensors_for_numpy_writes_and_reads_tensors(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    file = tmp_path / "weights.safetensors"
    state = dovetail.nn.Linear(2, 3).state_dict()
    safetensors.save_file({name: value.numpy() for name, value in state.items()}, file)
    found = dovetail.serialization.load_file(file)
    assert all(dovetail.equal(found[name], state[name]) for name in state)
    dovetail.serialization.save_file(state, file)
    read = safetensors.load_file(file)
    assert all(np.array_equal(read[name], state[name]) for name in state)


def test_safetensors_for_torch_writes_and_reads_tensors_as_torch(tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="safetensors is not installed")
    program = f"""
import dovetail
with dovetail.as_torch():
    import torch
    from safetensors import safe_open
    from safetensors.torch import load, load_file, load_model, save, save_file, save_model

    file = {str(tmp_path / "weights.safetensors")!r}
    dtypes = [torch.bool, torch.uint8, torch.int64, torch.float16, torch.bfloat16, torch.complex64]
    state = {{str(each): torch.ones(2, 3, dtype=each) for each in dtypes}}
    state["none"] = torch.empty(0, 3)
    save_file(state, file, metadata={{"made": "here"}})
    for read in (load_file(file), load(save(state))):
        for name, value in state.items():
            assert read[name].dtype is value.dtype and torch.equal(read[name], value), name
    with safe_open(file, framework="pt") as found:
        assert found.metadata() == {{"made": "here"}}
        assert found.get_slice("none")[:, 1:].shape == (0, 2)
    model, other = torch.nn.Linear(2, 3), torch.nn.Linear(2, 3)
    save_model(model, file)
    load_model(other, file)
    assert torch.equal(model.weight, other.weight)
    loaded = load_file(file)["weight"]
    loaded.zero_()
    assert torch.equal(load_file(file)["weight"], model.weight)
print("read")
"""
    assert printed_by(program) == "read\n"
