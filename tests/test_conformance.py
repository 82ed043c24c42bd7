"""Every registered solver, kernel and sampler keeps the contract."""

import pytest

from svmkit import plugins
from svmkit.conformance import KERNEL, SAMPLER, SOLVER, check_plugin
from svmkit.errors import Unavailable

CASES = [(kind, name) for kind in ("solver", "kernel", "sampler") for name in plugins.names(kind)]


@pytest.mark.parametrize(("kind", "name"), CASES, ids=[f"{k}-{n}" for k, n in CASES])
def test_conforms(kind, name):
    try:
        plugins.load(kind, name)
    except Unavailable as missing:
        pytest.skip(str(missing))
    results = check_plugin(name, kind)
    assert len(results) == 1 + len({"solver": SOLVER, "kernel": KERNEL, "sampler": SAMPLER}[kind])
    assert not [f"{r.check}: {r.problem}" for r in results if r.problem]
