"""
A batch job
===========

A job on somebody else's machine is stopped in the middle: the night is over, the node is drained. With ``--checkpoint``
the same command goes on where it was stopped, and until then there is a model, with a certificate of how good it is.
"""

# %%
# The job trains on a file, to a gap that takes a million steps.

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import dump_svmlight_file

folder = tempfile.TemporaryDirectory()
rng = np.random.default_rng(0)
X = rng.normal(size=(6000, 8)).round(3)
y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=6000) > 0, 1, -1)
dump_svmlight_file(X, y, str(Path(folder.name) / "train.svm"), zero_based=False)

job = [sys.executable, "-m", "svmkit", "train", "train.svm", "--solver", "swap", "-C", "100", "--gamma", "0.1"]
job += ["--tol", "1e-3", "--max-iter", "1000000", "--checkpoint", "run.ckpt", "--every", "1s", "--resume"]
job += ["--out", "model.svmkit", "--force", "--json", "--no-track"]
print("svmkit", *job[3:])

# %%
# The first night. When the second checkpoint has been written, SIGTERM comes, as from ``docker stop``.

first = subprocess.Popen(job, cwd=folder.name, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
written, checkpoint = set(), Path(folder.name) / "run.ckpt"
while len(written) < 2 and first.poll() is None:
    written |= {checkpoint.stat().st_mtime_ns} if checkpoint.exists() else set()
    time.sleep(0.05)
first.terminate()
stopped = json.loads(first.communicate()[0])
print(f"exit code {first.returncode}: {stopped['status']} after {stopped['n_iter']:,} steps, gap {stopped['gap']:.1e}")

# %%
# The exit code is 0, because there is a model, and ``status`` says what it is. The second night: the same command.

second = subprocess.run(job, cwd=folder.name, capture_output=True, text=True, check=True)
done = json.loads(second.stdout)
folder.cleanup()
print(f"exit code {second.returncode}: {done['status']} after {done['n_iter']:,} steps, gap {done['gap']:.1e}")

# %%
# The steps count on from those of the first night. The certificate does not rely on them: it was computed from scratch.

kept = stopped["n_iter"] / done["n_iter"]
print(f"the gap falls from {stopped['gap']:.1e} to {done['gap']:.1e}; the first night did {kept:.2f} of the steps")
