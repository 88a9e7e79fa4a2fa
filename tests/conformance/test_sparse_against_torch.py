"""Sparse tensors, also compressed ones: values, gradients, errors and texts, beside PyTorch's."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dovetail

torch = pytest.importorskip("torch", reason="PyTorch is the oracle of these tests")

pytestmark = pytest.mark.cpu_only(reason="the texts name no device")


@pytest.fixture(autouse=True)
def _without_warnings_of_torch() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


SAME = """
s|s.coalesce()|s.is_coalesced()|c.indices()|c.values()|s._indices()|s._values()|s._nnz()
s.sum()|s.sum(0)|s.sum(-1)|s.sum((0, 1))|t.sparse.sum(s)|t.sparse.sum(s, 1, dtype=t.float64)
s[0]|s[0, 2]|s[:, 2]|s[1]|s[..., 0]|s[None]|t.select(s, 0, 1)|s.index_select(0, t.tensor([1]))
s.t()|s.T|s.mT|s.transpose(0, 1)|s.permute(1, 0)|s.unsqueeze(0)|s.unsqueeze(2)|s.unsqueeze(-2)
s.to(t.float64)|s.double()|s.half()|s.long()|s.to(s.dtype) is s|s.cpu()|s.clone()|s.detach()
s * 2|2 * s|s / 2|s // 2|s + s|s - s|s * d[:2, :3]|c * c|-s|s.neg()|c + c.t().t()|s - 2 * s
d[:2, :3] + s|d[:2, :3] - s|s * t.tensor(2.0)|s.abs()|s.pow(2)|s ** 2|s.sqrt()|s.relu()|s.norm()
s @ d|d.T @ s.T|t.mm(s, d)|t.mm(d.T, s.t())|s @ d[:, 0]|t.mv(s, d[:, 0])|t.dsmm(s, d)
t.hsmm(s, d)|t.spmm(s, d)|t.hspmm(s, d)|t.smm(s, d)|t.sparse.mm(s, d)|t.sparse.mm(s, s.t())
s @ s.t()|t.sspaddmm(s @ s.t(), s, d[:, :2], beta=2, alpha=3).to_dense()
t.saddmm(s @ s.t(), s, d[:, :2]).to_dense()|t.saddmm(s @ s.t(), s, d[:, :2]).sparse_dim()
t.sparse.addmm(t.ones(2, 4), s, d, beta=2, alpha=3)|t.addmm(t.ones(2, 4), s, d)
t.bmm(t.stack([s, s]), t.stack([d, d]))|t.stack([s, s])|t.stack([s, s], 1)|t.cat([s, s])
t.cat([s, s], 1)|t.nn.functional.linear(d.T, s)|s.to_dense()|s.t().to_dense()|h.to_dense()
s.shape|s.size(0)|s.numel()|s.ndim|s.dim()|len(s)|s.sparse_dim()|s.dense_dim()|h.dense_dim()
s.is_sparse|s.layout|s.dtype|s.device|s.is_floating_point()|s.element_size()|s.stride()
d.is_sparse|d.layout|s.is_contiguous()|s.type()|s.requires_grad|s.is_leaf|s.grad_fn|s.grad
h|h.coalesce()|h.sum(0)|h.sum(2)|h[0]|h[0, 0]|h.transpose(0, 1)|h * 2|h._nnz()
t.sparse_coo_tensor(i, v)|t.sparse_coo_tensor(i.float(), v, (2, 3))|t.sparse_coo_tensor((2, 3))
t.sparse_coo_tensor([[0, 1], [1, 0]], [1, 2])|t.sparse_coo_tensor([[0]], [True], (2,))
t.sparse_coo_tensor(t.empty(1, 0), [], (2,))
t.sparse_coo_tensor(i, v, (2, 3), dtype=t.float64, requires_grad=True)
t.sparse.FloatTensor(i, v, t.Size([2, 3]))|t.sparse.FloatTensor(i, v)|t.sparse.FloatTensor(2, 3)
t.sparse.FloatTensor()|t.sparse.LongTensor(i, v.long())|isinstance(s, t.sparse.FloatTensor)
isinstance(s, t.sparse.DoubleTensor)|isinstance(d, t.sparse.FloatTensor)|isinstance(s, t.Tensor)
t.eye(3).to_sparse()|t.ones(2, 3, 2).to_sparse(1)|d.to_sparse().to_dense()|t.eye(2).to_sparse_coo()
t.ones(2, 2).to_sparse(layout=t.sparse_coo)|t.tensor(3.0).to_sparse()|t.zeros(2, 0).to_sparse()
t.eye(3).to_sparse().is_coalesced()|s.t().is_coalesced()|(c * 2).is_coalesced()|t.is_tensor(s)
t.zeros_like(s)|s.requires_grad_()|t.tensor([[1, 0]]).to_sparse()|t.eye(2).double().to_sparse()
t.tensor([[True, False]]).to_sparse().to_dense()|f"{s}"|str(s)|s.is_same_size(s)
t.sparse_coo_tensor(t.arange(40).reshape(1, 40), t.arange(40.0), (50,))
r|k|r.crow_indices()|r.col_indices()|k.ccol_indices()|k.row_indices()|r.values()|r._nnz()|r.layout
r.is_sparse|r.is_sparse_csr|k.is_sparse_csr|r.sparse_dim()|r.dense_dim()|len(r)|r.numel()|r.shape
r.to_dense()|k.to_dense()|r.to_sparse()|k.to_sparse_coo()|r.to_sparse(2)|r.to_sparse_csc()
k.to_sparse_csr()|r.to_sparse_csr() is r|k.to_sparse(layout=t.sparse_csr)|s.to_sparse_csc()
t.eye(3).to_sparse_csr()|t.eye(3)[:2].to_sparse_csc()|t.ones(2, 3, 2).to_sparse_csr(dense_dim=1)
t.zeros(2, 3).to_sparse_csr()|r.t()|k.t()|r.mT|r.transpose(0, 1)|r.transpose(1, 1)
(r @ r.t()).to_dense()|(k @ k.t()).to_dense()|(k.t() @ k).to_dense()|(r @ k.t()).layout
r @ d|k @ d|d.T @ r.t()|r @ d[:, 0]|k.mv(d[:, 0])
t.sparse.mm(r, d)|t.spmm(r, d)|t.addmm(t.ones(2, 4), r, d)|t.nn.functional.linear(d.T, r)
t.sparse.addmm(t.ones(2, 4), k, d, beta=2, alpha=3)|t.sparse.mm(t.eye(3), d)
t.sparse.addmm(t.ones(3, 4), t.eye(3), d, alpha=2)
t.sparse.mm(r, d, "sum")|t.sparse.mm(r, d, "mean")|t.sparse.mm(r, -d, "amax")
t.sparse.mm(r, d, "amin")|r + r|k + k|r * 2|k * t.tensor(2.0)|r * r|r * k|-r|r.neg()|r.abs()
k.sqrt()|r.relu()|r.sum()|r.sum(1, keepdim=True)|r.sum(0, keepdim=True)|d[:2, :3] + r|r[0]|k[:, 2]
r[0, 2]|k.select(1, 2)|r.double()|r.to(t.float64)|r.int()|r.clone()|r.detach()|t.zeros_like(r)
r.requires_grad_()|f"{r}"|d[:2, :3].sparse_mask(c)|d[:2, :3].sparse_mask(k)|c.sparse_mask(r)
(s * 5).sparse_mask(c)
t.sparse_csr_tensor([0, 2, 3], [0, 2, 2], [1.0, 2.0, 3.0])
t.sparse_csr_tensor([0, 2, 3], [2, 0, 1], v[:3], (2, 4), dtype=t.float64, requires_grad=True)
t.sparse_csr_tensor([0, 2, 3], [2, 0, 1], v[:3]).to_dense()
t.sparse_csr_tensor([0, 2, 3], [2, 0, 1], v[:3]).to_sparse_csc()
t.sparse_csc_tensor([0, 2, 3], [0, 2, 2], v[:3])|t.sparse_csr_tensor([0, 0], [], [], (1, 2))
t.sparse_compressed_tensor([0, 2, 3], [0, 2, 2], v[:3], layout=t.sparse_csc)
t.sparse_csr_tensor(i[0, :3].cumsum(0).int(), i[0, :2].int(), v[:2], (2, 2)).crow_indices().dtype
t.sparse_csr_tensor([0, 2, 3], [0, 2, 2], t.ones(3, 2))
t._convert_indices_from_coo_to_csr(i[0], 4)|t._convert_indices_from_coo_to_csr(i[0].int(), 4)
t._convert_indices_from_csr_to_coo(t.tensor([0, 2, 2, 3]), i[1, :3], transpose=True)
t.sparse.spdiags(t.arange(9.0).view(3, 3), t.tensor([0, -1, 1]), (3, 3))
t.sparse.spdiags(t.arange(9.0).view(3, 3), t.tensor([0, -1, 1]), (3, 3), layout=t.sparse_csr)
t.sparse.spdiags(t.arange(8.0).view(2, 4), t.tensor([0, 2]), (3, 5)).to_dense()
t.sparse.spdiags(t.arange(3.0), t.tensor([1]), (3, 3)).to_dense()
t.sparse.sampled_addmm(r, t.ones(2, 4), d.t(), beta=0.5, alpha=2.0)
t.sparse.sampled_addmm(r, t.ones(2, 4), d.t())
t.sparse.softmax(s, 0)|t.sparse.softmax(s, 1)|t.sparse.softmax(s, -1, dtype=t.float64)
t.sparse.softmax(h, 0)|t.sparse.softmax(h, 1)|t.sparse.softmax(h, 2)|t.sparse.softmax(h, -3)
t.sparse.log_softmax(s, 0, dtype=t.float64)|t.sparse.log_softmax(s, 1, dtype=t.float64)
t.sparse.log_softmax(h, 1)|t.sparse.log_softmax(h, 2)
t.sparse.log_softmax(s * 100, 1, dtype=t.float64)
t.sparse.softmax(t.sparse_coo_tensor([[0, 0, 3]], [1.0, 2.0, 3.0]), 0)
s.norm(1)|s.norm(2, dim=(0, 1))|s.norm(2, (-1, 0))|s.norm(dim=())|s.norm(float("inf"))|h.norm(0)
t.norm(s, 2)|t.norm(s, dim=(1, 0))|t.zeros_like(r)
"""

REFUSED = """
s.indices()|s.values()|s + d[:2, :3]|s - d[:2, :3]|s + 1|s / d[:2, :3]|t.exp(s)|s == s
s.view(-1)|s.nonzero()|s[t.tensor([1, 0])]|t.cat([s, d[:2, :3]])|s[5]|s[0, 0, 0]|s.sum(2)
t.sparse_coo_tensor(i, v[:3], (2, 3))|t.sparse_coo_tensor(i, v, (2, 3, 4))
t.sparse_coo_tensor([0, 1], [1.0, 2])|s @ d[:2]|t.ones_like(s)|t.equal(s, s)|s.numpy()
s.to_dense(dtype=t.float64)|s @ d.double()|s.unsqueeze(5)|h.mT.t()|d.indices()|d.coalesce()
np.asarray(s)|s.transpose(0, 4)|h.permute(0, 2, 1) @ d
r.indices()|r.coalesce()|r.row_indices()|k.crow_indices()|r.sum(1)|r[0:1]|r.numpy()|r.view(-1)
r.is_contiguous()|r.softmax(0)|t.equal(r, r)|r.nonzero()|d.crow_indices()|t.sparse.mm(r, d, "prod")
t.sparse.mm(k, d, "amax")|t.sparse.mm(d[:2, :3], d, "sum")|d[:2, :3].sparse_mask(h)
t.sparse_csr_tensor([0, 2, 3], [2, 0, 2], v[:3], check_invariants=True)|r.index_select(0, i[0])
t.sparse_csr_tensor([0, 2, 3], [2, 0, 2], v[:3], (2, 2), check_invariants=True)
t.sparse_csr_tensor([1, 2, 3], [2, 0, 2], v[:3], check_invariants=True)
t.sparse_csr_tensor([0, 2, 4], [2, 0, 2], v[:3], check_invariants=True)
t.sparse_csr_tensor([0, 3, 2, 3], [2, 0, 2], v[:3], check_invariants=True)
t.sparse_csr_tensor([0, 2, 3], [2, 0], v[:3], check_invariants=True)
t.sparse.spdiags(t.ones(2, 3), t.tensor([0, 0]), (3, 3))|t._convert_indices_from_coo_to_csr(v, 4)
t.sparse.sampled_addmm(s, t.ones(2, 4), d.t())|t.sparse.sampled_addmm(r, d, d.t())
t.sspaddmm(d[:, :2], s, d[:, :2])|t.sspaddmm(s @ s.t(), d[:2, :3], d[:, :2])
t.sparse.softmax(s, 2)|t.sparse.softmax(d, 0)|t.sparse.softmax(s.long(), 0)
t.sparse.log_softmax(r, 0)
s.norm(keepdim=True)|s.norm(dim=0)|s.norm(2, (0,))|t.norm(s, 2, (0, 1), True)
t.zeros_like(s, memory_format=t.preserve_format)
"""


def named(lib: Any) -> dict[str, Any]:
    i = lib.tensor([[0, 1, 1, 1], [2, 0, 2, 2]])
    v = lib.tensor([3.0, 4.0, 5.0, 6.0])
    s = lib.sparse_coo_tensor(i, v, (2, 3))
    h = lib.sparse_coo_tensor([[1, 0, 1], [0, 1, 0]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    d = lib.arange(12.0).view(3, 4)
    return {"t": lib, "i": i, "v": v, "s": s, "h": h, "c": s.coalesce(), "d": d, "np": np} | {
        "r": s.coalesce().to_sparse_csr(),
        "k": s.coalesce().to_sparse_csc(),
    }


def text_of(value: Any) -> str:
    text = repr(value).replace("torch.", "dovetail.").replace("Backward0>", "Backward>")
    return re.sub(r"grad_fn=<\w+>", "grad_fn=...", re.sub(r"\s+", " ", text))


@pytest.mark.parametrize("expression", SAME.replace("\n", "|").strip("|").split("|"))
def test_it_gives_what_pytorch_gives(expression: str) -> None:
    expected = eval(expression, named(torch))
    assert text_of(eval(expression, named(dovetail))) == text_of(expected)


@pytest.mark.parametrize("expression", REFUSED.replace("\n", "|").strip("|").split("|"))
def test_what_pytorch_refuses_is_refused(expression: str) -> None:
    with pytest.raises(Exception) as theirs:
        eval(expression, named(torch))
    with pytest.raises(theirs.type):
        eval(expression, named(dovetail))


GRADIENTS = """
(s @ d).pow(2).sum()|(s.t() @ d[:2]).pow(2).sum()|t.sparse.mm(s, d).exp().sum()|s.sum() ** 2
t.spmm(s, d).sin().sum()|(s.to_dense() ** 2).sum()|(s.coalesce().values() ** 2).sum()
((s * 2 + s) @ d).pow(2).sum()|(d.t() @ s.t()).pow(2).sum()|(s @ d[:, 0]).pow(2).sum()
t.bmm(t.stack([s, s * 2]), t.stack([d, d])).pow(2).sum()
t.sparse.addmm(d[:2], s, d, beta=2, alpha=3).pow(2).sum()|(d[:2, :3] + s).pow(2).sum()
((s / 2 - s.t().t()) @ d).pow(2).sum()
(s.to_sparse_csr() @ d).pow(2).sum()|(s.to_sparse_csc() @ d).pow(2).sum()
(s.to_sparse_csr().t() @ d[:2]).pow(2).sum()|(s.to_sparse_csr().to_dense() ** 2).sum()
(s.to_sparse_csr().values() ** 2).sum()|(s.to_sparse_csr() * 3).to_dense().pow(2).sum()
t.sparse.mm(s.to_sparse_csr(), d, "amax").pow(2).sum()
t.sparse.mm(s.to_sparse_csr(), d, "mean").pow(2).sum()
(s.to_sparse_csr() @ d[:, 0]).pow(2).sum()
d[:2, :3].sparse_mask(s.detach().coalesce()).values().pow(2).sum()
(t.sparse_csr_tensor([0, 1, 3], [2, 0, 2], v, (2, 3)).to_dense() ** 2).sum()
t.sparse.sampled_addmm(s.to_sparse_csr(), d[:2], d.t()).to_dense().pow(2).sum()
"""


@pytest.mark.parametrize("expression", GRADIENTS.replace("\n", "|").strip("|").split("|"))
def test_gradients_of_values_and_of_the_dense_operand_are_those_of_pytorch(expression: str) -> None:
    def gradients(lib: Any) -> list[Any]:
        i = lib.tensor([[0, 1, 1], [2, 0, 2]])
        v = lib.tensor([0.3, 0.4, 0.5], requires_grad=True)
        d = (lib.arange(12.0) / 10).view(3, 4).requires_grad_()
        s = lib.sparse_coo_tensor(i, v, (2, 3))
        eval(expression, {"t": lib, "s": s, "d": d, "v": v}).backward()
        return [
            None if v.grad is None else v.grad.tolist(),
            None if d.grad is None else d.grad.tolist(),
        ]

    for ours, theirs in zip(gradients(dovetail), gradients(torch), strict=True):
        assert (ours is None) == (theirs is None)
        if theirs is not None:
            np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def leaf(lib: Any) -> Any:
    return lib.sparse_coo_tensor(
        [[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3), requires_grad=True
    )


def test_the_gradient_of_a_sparse_leaf_is_sparse_as_in_pytorch() -> None:
    def gradient(lib: Any) -> Any:
        s = leaf(lib)
        lib.sparse.mm(s, lib.arange(12.0).view(3, 4)).pow(2).sum().backward()
        return s.grad.coalesce().to_dense().tolist(), s.grad.layout == lib.sparse_coo, s.is_leaf

    assert gradient(dovetail) == gradient(torch)


def test_autograd_grad_gives_a_sparse_gradient() -> None:
    def gradient(lib: Any) -> Any:
        s = leaf(lib)
        loss = lib.sparse.mm(s, lib.arange(12.0).view(3, 4)).pow(2).sum()
        return lib.autograd.grad(loss, s)[0].coalesce().to_dense().tolist()

    assert gradient(dovetail) == gradient(torch)


def test_without_a_grad_mode_no_graph_is_made() -> None:
    def facts(lib: Any) -> Any:
        v = lib.ones(1, requires_grad=True)
        with lib.no_grad():
            s = lib.sparse_coo_tensor([[0], [0]], v)
        return s.requires_grad, s.grad_fn, (s @ lib.ones(1, 1)).requires_grad

    assert facts(dovetail) == facts(torch)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_a_sparse_softmax_has_the_gradients_of_pytorchs(name: str, dim: int) -> None:
    found = []
    for lib in (dovetail, torch):
        i = lib.tensor([[1, 0, 1, 1], [0, 1, 1, 1]])
        v = lib.arange(8.0).reshape(4, 2).cos().requires_grad_()
        x = lib.sparse_coo_tensor(i, v, (2, 3, 2))
        made = getattr(lib.sparse, name)(x, dim).coalesce()
        (made.values() * lib.arange(6.0).reshape(3, 2)).sum().backward()
        found.append(v.grad.numpy())
    assert np.allclose(found[0], found[1], atol=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_lines_of_a_text_break_where_pytorchs_do(seed: int) -> None:
    r = random.Random(seed)
    rows, columns, share = r.randint(1, 40), r.randint(1, 40), r.random()
    dense = np.random.default_rng(seed).standard_normal((rows, columns))
    dense *= np.random.default_rng(seed + 1).random((rows, columns)) < share
    dtype = r.choice(["float32", "float64", "int64", "complex64"])
    for convert in ("to_sparse", "to_sparse_csr", "to_sparse_csc"):
        ours, theirs = [
            repr(getattr(lib.from_numpy(dense).to(getattr(lib, dtype)), convert)())
            for lib in (dovetail, torch)
        ]
        # What follows the sizes names the library, whose names have not one length.
        assert ours.rpartition("size=")[0] == theirs.rpartition("size=")[0], convert


def test_no_inner_call_of_a_softmax_warns() -> None:
    program = (
        "import dovetail\n"
        "x = dovetail.eye(2).to_sparse()\n"
        "dovetail.sparse.softmax(x, 1), dovetail.sparse.log_softmax(x, 0)\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


OUTS = {
    "matmul": lambda t, x, d: t.matmul(x, d, out=t.zeros(3, 4)),
    "mm": lambda t, x, d: t.mm(x, d, out=t.zeros(3, 4)),
    "addmm": lambda t, x, d: t.addmm(t.ones(3, 4), x, d, out=t.zeros(3, 4)),
    "add": lambda t, x, d: t.add(t.ones(3, 3), x, out=t.zeros(3, 3)),
    "a gradient": lambda t, x, d: t.mm(x, d.clone().requires_grad_(), out=t.zeros(3, 4)),
    "a sparse result": lambda t, x, d: t.mul(x, x, out=t.zeros(3, 3)),
}


@pytest.mark.parametrize("name", OUTS)
@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr"])
def test_strided_results_are_written_into_out(name: str, layout: str) -> None:
    def found(lib: Any) -> Any:
        x = getattr(lib.arange(9.0).view(3, 3), layout)()
        try:
            return OUTS[name](lib, x, lib.arange(12.0).view(3, 4)).tolist()
        except RuntimeError:
            return "refused"

    ours = found(dovetail)
    assert ours == found(torch)
    assert (ours == "refused") == (" " in name)


def test_an_out_without_elements_gets_the_shape_of_the_result() -> None:
    def found(lib: Any) -> Any:
        x = lib.arange(9.0).view(3, 3).to_sparse()
        return lib.mm(x, lib.arange(12.0).view(3, 4), out=lib.empty(0)).tolist()

    assert found(dovetail) == found(torch)
