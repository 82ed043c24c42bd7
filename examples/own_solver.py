"""
Comparing your own solver
=========================

An idea for a solver: how does it stand beside the ones that are there? ``svmkit new solver`` writes a file that works,
a change of it is the idea, and ``svmkit compare`` runs all on the same problems and certifies each result from scratch.
"""

# %%
# The template moves weight to the best point, from the worst one. The idea: from any point that has weight, at random,
# which costs nothing to choose.

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

from svmkit.compare import results_frame

folder = tempfile.TemporaryDirectory()
svmkit = [sys.executable, "-m", "svmkit"]
subprocess.run([*svmkit, "new", "solver", "dice"], cwd=folder.name, check=True, capture_output=True)
file = Path(folder.name) / "dice.py"
text = file.read_text(encoding="utf-8")
worst = "j = int(active[np.argmax(g[active])])"
assert worst in text
file.write_text(text.replace(worst, "j = int(state.draws.rng.choice(active))"), encoding="utf-8")

# %%
# Beside it the pairwise steps that the template has, ``swap``, and the fully corrective solver. Each run is a
# process of its own; a limit in seconds keeps slow ones from holding up the others.

compare = [*svmkit, "compare", "breast_cancer", "--plugin", "dice.py", "--solvers", "dice,swap,fcfw"]
compare += ["--scale", "standard", "--tol", "1e-5", "--time-limit", "20", "--no-track", "--results", "runs.jsonl"]
done = subprocess.run(compare, cwd=folder.name, check=True, capture_output=True, text=True)
print(done.stdout)

# %%
# The records, as a table and as a picture: all three reach the same minimum, which the certificates confirm.

runs = results_frame(Path(folder.name) / "runs.jsonl").set_index("solver")
folder.cleanup()
print(runs[["status", "n_iter", "kernel_values", "gap", "objective"]].to_string())
figure, axes = plt.subplots(figsize=(5, 2), layout="constrained")
bars = axes.barh(runs.index, runs["n_iter"].astype(float), color=["C0", "0.7", "0.7"])
axes.bar_label(bars, fmt="{:,.0f}", padding=3)
axes.invert_yaxis()
axes.set(xlabel="steps to a certified gap of 1e-5", xscale="log", xlim=(1, 1e6))
plt.show()

# %%
# So the choice is worth its price: the worst point takes away what hurts most.

ratio = runs["n_iter"]["dice"] / runs["n_iter"]["swap"]
print(f"the idea takes {ratio:.1f} times the steps of swap")
