"""The Triton kernels of the iterations, by Triton's interpreter: what PyTorch's operations compute."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="needs pip install 'svmkit[torch]'")
pytest.importorskip("triton", reason="needs Triton, which PyTorch for CUDA brings")

PROGRAM = """
import numpy as np
import torch
from svmkit.kernels import RBF
from svmkit.solver.smo.boxes import Box
from svmkit_torch.ondevice import pairs, spectral
from svmkit_torch.ondevice.fused import products, projection, steps
from svmkit_torch.ondevice.answer import Profile
from svmkit_torch.ondevice.many import _batch, _Matrix
from svmkit_torch.ondevice.posed import Posed
from svmkit_torch.values import DeviceRows

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
problems = []
for m, C in ((150, 1.0), (140, 10.0), (100, 100.0)):
    at = np.sort(rng.permutation(200)[:m])
    problems.append(Box(at, np.where(X[at, 0] + 0.5 * rng.normal(size=m) > 0.0, 1.0, -1.0), np.full(m, C)))
steps.LANES = projection.LANES = 128  # several tiles
for room, dtype in ((1, torch.float32), (10**9, torch.float64)):
    rows = DeviceRows(RBF(0.5), X, "cpu")
    matrix = _Matrix(rows, np.arange(200), 10**9, Profile(torch.device("cpu")))
    assert dtype is torch.float32 or matrix.refine()
    matrix.memory = room
    one, other = (_batch([Posed(rows, problem) for problem in problems], matrix)[0] for _ in range(2))
    eps = torch.tensor([1e-9, 1e-9, 1e-9], dtype=torch.float64)
    made = pairs.take_steps(one, 12, eps), steps.take_steps(other, 12, eps)
    assert made[0].tolist() == made[1].tolist() == [12, 12, 12]
    assert torch.allclose(one.beta, other.beta, atol=1e-4 if dtype is torch.float32 else 1e-12)
    assert torch.allclose(one.v, other.v, atol=1e-4 if dtype is torch.float32 else 1e-12)
    assert float((other.y * other.beta).sum(1).abs().max()) < 1e-12
eps = torch.full((3,), 1e9, dtype=torch.float64)
assert steps.take_steps(other, 12, eps).tolist() == [0, 0, 0]

matrix = _Matrix(rows, np.arange(200), 10**9, Profile(torch.device("cpu")))
for dtype in (torch.float32, torch.float64):
    assert dtype is torch.float32 or matrix.refine()
    one, other = (_batch([Posed(rows, problem) for problem in problems], matrix)[0] for _ in range(2))
    for batch in (one, other):  # ridges of several sizes, one of them that of a point alone
        batch.ridge = torch.linspace(0.0, 3.0, batch.y.numel(), dtype=torch.float64).view_as(batch.y)
        batch.ridge[1, 3] = 100.0
    made = pairs.take_steps(one, 40, eps * 0.0), steps.take_steps(other, 40, eps * 0.0)
    assert made[0].tolist() == made[1].tolist() == [40, 40, 40]
    assert torch.allclose(one.beta, other.beta, atol=1e-3 if dtype is torch.float32 else 1e-12)
    assert torch.allclose(one.v, other.v, atol=1e-3 if dtype is torch.float32 else 1e-12)

for scale in (1e-4, 1.0, 1e6):
    y = torch.where(torch.rand(3, 300, dtype=torch.float64) < 0.4, 1.0, -1.0).to(torch.float64)
    upper = scale * torch.rand(3, 300, dtype=torch.float64)
    upper[:, -30:] = 0.0
    z = 2.0 * scale * torch.randn(3, 300, dtype=torch.float64)
    balance = 0.1 * (y * upper).sum(1, keepdim=True)
    expected, found = (code.project(z, y, upper, balance) for code in (spectral, projection))
    assert float((expected - found).abs().max()) < 1e-12 * scale
    assert float(((y * found).sum(1, keepdim=True) - balance).abs().max()) < 1e-11 * scale
    assert float((found - upper).max()) <= 0.0 and float(found.min()) >= 0.0

for dtype, off in ((torch.float32, 1e-5), (torch.float64, 1e-13)):
    X, Z, coef = torch.randn(200, 5, dtype=dtype), torch.randn(150, 5, dtype=dtype), torch.randn(150, dtype=dtype)
    expected = torch.exp(-0.3 * torch.cdist(X.double(), Z.double()).square()) @ coef.double()
    found = products.product(X.T.contiguous(), Z.T.contiguous(), coef, 0.3)
    assert found.dtype is torch.float64 and float((expected - found).abs().max()) < off
print("equal")
"""


@pytest.mark.slow
def test_kernels_compute_what_plain_operations_compute():
    environment = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    ran = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert ran.stdout.endswith("equal\n"), ran.stderr[-3000:]
