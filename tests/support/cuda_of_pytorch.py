"""Tests that ask PyTorch about CUDA: they expect the answers of a build without it."""

from __future__ import annotations

import pytest
import torch

_BUILT_WITH_IT = torch.version.cuda is not None


def skip_if_built_with_cuda() -> None:
    """Skip the test where PyTorch is built with CUDA."""
    if _BUILT_WITH_IT:
        pytest.skip("this PyTorch is built with CUDA and answers otherwise: install one without")
