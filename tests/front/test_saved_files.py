"""Files that earlier versions wrote load, and files name public places only."""

from __future__ import annotations

import pickle
import pickletools
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest
from saved_objects import KINDS, PICKLED_ALONE, described, made

import dovetail

pytestmark = pytest.mark.cpu_only(reason="the saved files hold tensors and generators of the cpu")

_FOLDER: Final = Path(__file__).parents[1] / "saved_files"
_VERSIONS: Final = sorted(each.name for each in _FOLDER.iterdir())
_SAVED: Final = [kind for kind in KINDS if kind not in PICKLED_ALONE]
_FACTORIZED: Final = ("distributions", "results")
"""Kinds with factors of matrices, which lie by columns by now."""
_PYTORCHS: Final = (
    *("dovetail.distributions.constraints", "dovetail.fx.immutable_collections"),
    *("dovetail.nn.functional", "dovetail.nn.init", "dovetail.nn.parameter"),
    *("dovetail.nn.utils.prune", "dovetail.nn.utils.rnn", "dovetail.nn.utils.spectral_norm"),
    *("dovetail.nn.utils.weight_norm", "dovetail.optim.lr_scheduler", "dovetail.optim.swa_utils"),
    "dovetail.utils.data",
)
"""Modules within modules that are PyTorch's."""


_GONE: Final = {
    *("on_default_dtype_change", "set_autograd_interface", "set_storage_class"),
    *("plain_signature", "signature_of", "BySize"),
}
"""Functions that no file names: the first ones installed hooks, for which there are sockets now;
the next ones read signatures, which functions show by themselves now; and no function is called by
the number of elements any more.
"""


def globals_of(content: bytes) -> Iterator[tuple[str, str]]:
    """Yield the modules and names that a pickle has its reader import."""
    texts: list[Any] = []
    memo: list[Any] = []
    for opcode, argument, _ in pickletools.genops(content):
        if opcode.name == "STACK_GLOBAL":
            yield texts[-2], texts[-1]
            texts.append(None)
        elif opcode.name == "MEMOIZE":
            memo.append(texts[-1])
        elif opcode.name in ("BINGET", "LONG_BINGET"):
            texts.append(memo[argument])
        else:
            texts.append(argument if "UNICODE" in opcode.name else None)


@pytest.mark.parametrize("version", _VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_pickle_of_an_earlier_version_loads(kind: str, version: str) -> None:
    loaded = pickle.loads((_FOLDER / version / f"{kind}.pickle").read_bytes())
    laid = {"with_layouts": kind not in _FACTORIZED}
    assert described(loaded, **laid) == described(made(kind), **laid)


@pytest.mark.parametrize("version", _VERSIONS)
@pytest.mark.parametrize("kind", _SAVED)
def test_a_file_of_an_earlier_version_loads(kind: str, version: str) -> None:
    loaded = dovetail.load(_FOLDER / version / f"{kind}.saved", weights_only=False)
    laid = {"with_layouts": kind not in _FACTORIZED}
    assert described(loaded, **laid) == described(made(kind), **laid)


@pytest.mark.parametrize("version", _VERSIONS)
def test_names_of_an_earlier_version_are_found(version: str) -> None:
    lines = (_FOLDER / version / "names.txt").read_text().splitlines()
    wrong = []
    for line in lines:
        places, _, names = line.partition(": ")
        old, public = places.split()
        for name in set(names.split()) - _GONE:
            before, _, now = name.partition("=")
            found = pickle.loads(f"c{old}\n{before}\n.".encode())
            if found is not getattr(import_module(public), now or before):
                wrong.append(f"{old}.{before}")
    assert len(lines) > 300
    assert wrong == []


@pytest.mark.parametrize("kind", KINDS)
def test_pickles_name_public_places_only(kind: str) -> None:
    named = {place for place, _ in globals_of(pickle.dumps(made(kind), protocol=4))}
    ours = {place for place in named if place.startswith("dovetail")}
    assert ours
    assert {place for place in ours if not _is_public(place)} == set()


def _is_public(place: str) -> bool:
    distribution, *inner = place.split(".")
    return place in _PYTORCHS or not inner or (distribution == "dovetail" and len(inner) == 1)
