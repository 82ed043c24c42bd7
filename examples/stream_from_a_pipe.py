"""
Streaming from a pipe
=====================

A sensor writes a line every moment, for ever. A model that learns from each line once, and keeps only a bounded number
of them, needs no file and no second look.
"""

# %%
# The program at the other end of the pipe: a machine with four sensors, whose lines are in svmlight format. The label
# says whether the piece was good.

import io
import itertools
import json
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse
from sklearn.datasets import load_svmlight_file

from svmkit import SVMClassifier

machine = """
import numpy as np
rng = np.random.default_rng(0)
for i in range(6000):
    a, b, c, d = rng.normal(size=4)
    good = a * a + b * b + 0.2 * rng.normal() < 1.4
    print(f"{1 if good else -1} 1:{a:.3f} 2:{b:.3f} 3:{c:.3f} 4:{d:.3f}", flush=i % 100 == 99)
"""

# %%
# On the command line a dash stands for the pipe: ``machine | svmkit train - --classes -1,1 ...``.

pipe = subprocess.Popen([sys.executable, "-c", machine], stdout=subprocess.PIPE)
command = [sys.executable, "-m", "svmkit", "train", "-", "--solver", "sfw", "--gamma", "0.2", "--classes=-1,1"]
command += ["--max-support", "600", "--json", "--no-track"]
trained = json.loads(subprocess.run(command, stdin=pipe.stdout, capture_output=True, text=True, check=True).stdout)
pipe.stdout.close()
pipe.wait()
print(f"{trained['n_samples']:,} lines read once, {trained['n_support']} of them kept")

# %%
# In Python ``partial_fit`` takes block after block. Each block is predicted before it is learnt from, so the
# accuracy is that on lines which the model has never seen.

model = SVMClassifier("sfw", gamma=0.2, max_support=600)
blocks, accuracies = [], []
pipe = subprocess.Popen([sys.executable, "-c", machine], stdout=subprocess.PIPE)
while lines := b"".join(itertools.islice(pipe.stdout, 200)):
    X, y = load_svmlight_file(io.BytesIO(lines), n_features=4)
    if blocks:
        accuracies.append(model.score(X, y))
    model.partial_fit(X, y, classes=[-1, 1])
    blocks.append((X, y))  # only for the comparison below
pipe.stdout.close()
pipe.wait()

# %%
# A model that may keep all lines, and look at them as often as it likes, is a little better on the last 1,000.

X, y = scipy.sparse.vstack([X for X, _ in blocks]).tocsr(), np.concatenate([y for _, y in blocks])
batch = SVMClassifier(gamma=0.2).fit(X[:5000], y[:5000])
whole = batch.score(X[5000:], y[5000:])

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.plot(200 * np.arange(1, len(blocks)), accuracies, label="learns from the pipe, keeps 600 lines")
axes.axhline(whole, color="C1", linestyle="--", label="looks at 5,000 lines as often as it likes")
axes.set(xlabel="lines so far", ylabel="accuracy on the next 200", ylim=(0.5, 1.0))
axes.legend(loc="lower right")
plt.show()

print(f"last 1,000 lines: accuracy {np.mean(accuracies[-5:]):.3f} from the pipe, {whole:.3f} from a file")
