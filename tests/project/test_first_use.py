"""What a user waits for in a new environment: few functions are compiled before the first model is there."""

import os
import subprocess
import sys

import pytest

FIT = """
import sys
from sklearn.datasets import load_breast_cancer
from svmkit import SVMClassifier
from svmkit.runtime import compiling
X, y = load_breast_cancer(return_X_y=True)
with compiling.count_compilations() as counts:
    model = SVMClassifier(solver="smo").fit(X, y)
    model.predict(X)
print(*counts.functions)
print("sklearn.model_selection" in sys.modules)
"""
ONCE = """
import sys
from sklearn.datasets import load_breast_cancer
from numba.core.registry import CPUDispatcher
from svmkit import SVMClassifier
X, y = load_breast_cancer(return_X_y=True)
SVMClassifier().fit(X, y)
ours = {name: module for name, module in sys.modules.items() if name.startswith("svmkit")}
found = {value for module in ours.values() for value in vars(module).values() if isinstance(value, CPUDispatcher)}
print(*(f"{value.py_func.__name__}:{len(value.signatures)}" for value in found if value.signatures))
"""
MOST = 8  # functions, each of which takes some tenths of a second


@pytest.mark.slow
def test_a_first_fit_on_few_rows_compiles_few_functions_and_imports_no_search(tmp_path):
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", FIT], env=env, capture_output=True, text=True, timeout=280)
    functions, searches = done.stdout.splitlines()
    functions = functions.split()
    assert functions and searches == "False", done.stderr
    assert len(functions) <= MOST
    assert not {"dense_block", "dense_product", "epilogue"} & set(functions)


@pytest.mark.slow
def test_a_first_fit_compiles_each_function_once(tmp_path):
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", ONCE], env=env, capture_output=True, text=True, timeout=280)
    compiled = dict(entry.split(":") for entry in done.stdout.split())
    assert "take_slice" in compiled, done.stderr
    assert set(compiled.values()) == {"1"}, compiled
