"""
Choosing C by a path
====================

How hard should a model try to fit every row? C says it, and nobody knows C beforehand. ``c_path`` trains a whole range,
each from the solution of the one before, and every model is certified.
"""

# %%
# Handwritten digits, 3 against all others, of which a tenth have a wrong label: here a large C does harm.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from svmkit import c_path, fit
from svmkit.kernels import RBF

X, digit = load_digits(return_X_y=True)
y = np.where(digit == 3, 1, -1)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
wrong = np.random.default_rng(0).random(len(y)) < 0.1
y = np.where(wrong, -y, y)

# %%
# Thirteen values of C, from 0.01 to 10,000. The kernel is resolved once, so that all models have the same gamma.

Cs = np.logspace(-2, 4, 13)
kernel = RBF("scale").resolve(X)
path = c_path(X, y, Cs, kernel=kernel, solver="smo")
alone = [fit(X, y, C=C, kernel=kernel, solver="smo") for C in Cs]

print("      C  accuracy  vectors      gap  steps  steps alone")
for C, on_path, by_itself in zip(Cs, path, alone, strict=True):
    accuracy = np.mean(on_path.model.predict(X_test) == y_test)
    print(f"{C:7.4g}  {accuracy:8.1%}  {len(on_path.support):7}", end="  ")
    print(f"{on_path.gap:.1e}  {on_path.n_iter:5}  {by_itself.n_iter:11}")

# %%
# The path begins at the smallest C, where the solution is easy. From C = 1,000 on the kernel separates the rows, wrong
# labels and all, and the path arrives with hardly a step, where a separate solve takes ten thousand.

train = [np.mean(fitted.model.predict(X) == y) for fitted in path]
test = [np.mean(fitted.model.predict(X_test) == y_test) for fitted in path]
figure, axes = plt.subplots(figsize=(5.5, 3.5), layout="constrained")
axes.semilogx(Cs, train, "s--", label="training rows, a tenth with wrong labels")
axes.semilogx(Cs, test, "o-", label="other rows, with the right labels")
axes.axhline(0.9, color="0.7", linewidth=1, zorder=0)
axes.set(xlabel="C", ylabel="accuracy", ylim=(0.75, 1.01))
axes.legend(loc="lower right")
plt.show()

# %%
# Beyond the best C the model learns the wrong labels by heart: it is right on every training row, and on the others
# hardly better than one that always says "not a 3".

saved = 1 - sum(fitted.n_iter for fitted in path) / sum(fitted.n_iter for fitted in alone)
print(
    f"best C {Cs[np.argmax(test)]:.3g}: accuracy {max(test):.3f}, at the last {test[-1]:.3f}; steps saved {saved:.0%}"
)
