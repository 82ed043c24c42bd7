"""
A cluster
=========

Rows that lie in parts, on workers that each see only their own: the model and its certificate are those of one machine.
Needs ``pip install 'svmkit[dask]'``.
"""

# %%
# Four parts of 1,500 rows, as an export writes them, in a folder that all workers can read.

import tempfile
from pathlib import Path

import numpy as np
from distributed import Client, SubprocessCluster
from sklearn.datasets import dump_svmlight_file
from svmkit_dask import DaskSVMClassifier

from svmkit import SVMClassifier

folder = tempfile.TemporaryDirectory()
rng = np.random.default_rng(0)
X = rng.normal(size=(6000, 8)).round(3)
y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=6000) > 0, 1, -1)
for part in range(4):
    rows = slice(1500 * part, 1500 * (part + 1))
    dump_svmlight_file(X[rows], y[rows], str(Path(folder.name) / f"part{part}.svm"), zero_based=False)

# %%
# Two worker processes on this machine. With a cluster of your own, ``Client("tcp://scheduler:8786")`` takes their
# place, and nothing else changes. On the command line: ``svmkit train 'parts/*.svm' --scheduler
# tcp://scheduler:8786``, or ``--scheduler local:2``.

settings = {"C": 10.0, "gamma": 0.1, "tol": 1e-3}
with (
    SubprocessCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
    Client(cluster, set_as_default=False) as client,
):
    spread = DaskSVMClassifier(client=client, **settings).fit(f"{folder.name}/*.svm")
    model = spread.to_local()  # an SVMClassifier, which needs no cluster
folder.cleanup()
print(f"cluster      {spread.status_}, {len(spread.support_)} vectors, certified gap {spread.gap_:.1e}")

# %%
# The same rows on one machine. Both certificates enclose the optimum between a lower and an upper bound; since it is
# the same optimum, the two intervals overlap, and the models say the same.

local = SVMClassifier("fcsmo", **settings).fit(X, y)
print(f"one machine  {local.status_}, {len(local.support_)} vectors, certified gap {local.gap_:.1e}")
for name, fitted in {"cluster": spread, "one machine": local}.items():
    print(
        f"{name:11}  the optimum is between {fitted.certificate_[0].dual:.3f} and {fitted.certificate_[0].primal:.3f}"
    )
agree = np.mean(model.predict(X) == local.predict(X))
print(f"the models agree on {agree:.4f} of the rows")
