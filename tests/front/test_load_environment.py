"""Variables of the environment that say whether `load` may run code of a file."""

from __future__ import annotations

import pickle

import pytest

import dovetail


class Plain:
    """An object that only a pickle can hold."""


@pytest.mark.parametrize("weights_only", [True, False, None])
@pytest.mark.parametrize(
    "variable", [None, "TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"]
)
@pytest.mark.filterwarnings("ignore")
def test_the_environment_decides_whether_files_may_run_code(
    tmp_path, monkeypatch, variable, weights_only
):
    dovetail.save(Plain(), tmp_path / "plain")
    if variable is not None:
        monkeypatch.setenv(variable, "1")
    forced = variable is not None and "NO" not in variable
    if (weights_only is False and not forced) or (
        weights_only is None and variable is not None and not forced
    ):
        found = dovetail.load(tmp_path / "plain", weights_only=weights_only)
        assert isinstance(found, Plain)
    else:
        with pytest.raises(pickle.UnpicklingError):
            dovetail.load(tmp_path / "plain", weights_only=weights_only)


def test_an_environment_that_forces_both_is_refused(tmp_path, monkeypatch):
    dovetail.save(1, tmp_path / "one")
    for name in ("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"):
        monkeypatch.setenv(name, "1")
    with pytest.raises(RuntimeError, match="TORCH_FORCE_WEIGHTS_ONLY_LOAD"):
        dovetail.load(tmp_path / "one")
