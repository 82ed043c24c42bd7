"""The code of the iterations for a device: Triton kernels where they run, PyTorch's operations everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch

from svmkit_torch.ondevice import pairs, spectral


class Code(NamedTuple):
    """SMO steps as in `pairs.take_steps`, the projection as in `spectral.project`, and, if available, a product for the
    rbf kernel and X of up to `most_columns` columns, with the number of products that it sums together.
    """

    take_steps: Callable[..., torch.Tensor]
    project: Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
    product: Callable[[torch.Tensor, torch.Tensor, torch.Tensor, float], torch.Tensor] | None = None
    most_columns: int = 0
    panel: int = 0


PLAIN = Code(pairs.take_steps, spectral.project)


def code_for(device: torch.device) -> Code:
    """Return the code for a device."""
    if device.type != "cuda":
        return PLAIN
    try:
        from svmkit_torch.ondevice.fused import products, projection, steps
    except ImportError:  # a build of PyTorch without Triton
        return PLAIN
    columns, panel = products.MOST_COLUMNS, products.PANEL
    return Code(steps.take_steps, projection.project, products.product, columns, panel)
