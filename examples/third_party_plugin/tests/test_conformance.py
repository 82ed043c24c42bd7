"""svmkit's own suite decides whether the plugins keep the contract."""

import pytest

from svmkit.conformance import check_plugin


@pytest.mark.parametrize(("name", "kind"), [("coord", "solver"), ("cauchy", "kernel"), ("stride", "sampler")])
def test_keeps_the_contract(name, kind):
    results = check_plugin(name, kind)
    assert results
    assert not [result for result in results if result.problem]
