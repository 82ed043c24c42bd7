"""
A rare class
============

Two of a hundred card payments are fraud. A model that calls everything honest is right for 98 of 100, and useless.
What helps is a weight for the rare class, and a measure that looks at it.
"""

# %%
# Payments as a bank sees them: amount, hour, distance from home, days since the card was last used, and the number of
# payments in the last hour. Fraud comes at night, from afar, in bursts: often, but not always.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import average_precision_score, precision_recall_curve, precision_score, recall_score
from sklearn.model_selection import train_test_split

from svmkit import SVMClassifier

rng = np.random.default_rng(0)
honest, fraud = 9800, 200
amount = np.r_[rng.lognormal(3.2, 1.0, honest), rng.lognormal(4.6, 1.2, fraud)]
hour = np.r_[rng.normal(14, 4, honest), rng.choice([2, 14], fraud, p=[0.7, 0.3]) + rng.normal(0, 2, fraud)] % 24
distance = np.r_[rng.exponential(12, honest), rng.exponential(120, fraud)]
idle = np.r_[rng.exponential(2, honest), rng.exponential(5, fraud)]
burst = np.r_[rng.poisson(0.2, honest), rng.poisson(1.5, fraud)]
clock = 2 * np.pi * hour / 24  # 23:59 is close to 0:00
X = np.c_[np.log(amount), np.cos(clock), np.sin(clock), np.log1p(distance), np.log1p(idle), burst]
y = np.r_[np.zeros(honest, int), np.ones(fraud, int)]
X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)

# %%
# The same model twice: once as it is, once with ``class_weight="balanced"``, by which both classes weigh the same.

models = {
    "as it is": SVMClassifier(C=0.1, gamma=0.02, scale="standard").fit(X, y),
    "balanced": SVMClassifier(C=0.1, gamma=0.02, scale="standard", class_weight="balanced").fit(X, y),
}
print("            accuracy  recall of fraud  alarms that are right")
for name, model in models.items():
    labels = model.predict(X_test)
    recall, precision = recall_score(y_test, labels), precision_score(y_test, labels)
    print(f"{name:10}  {np.mean(labels == y_test):8.1%}  {recall:15.1%}  {precision:21.1%}")

# %%
# The accuracy falls, and yet the second model is the one to have if fraud is dear: it misses hardly any, at the price
# of false alarms. The whole trade is a curve for each model; a circle is where ``predict`` stands. The curves are
# nearly the same: the weight moves the circle, and so would another threshold of ``decision_function``.

figure, axes = plt.subplots(figsize=(5.5, 4), layout="constrained")
for name, model in models.items():
    scores = model.decision_function(X_test)
    precision, recall, thresholds = precision_recall_curve(y_test, scores)
    (line,) = axes.plot(
        recall, precision, label=f"{name}, average precision {average_precision_score(y_test, scores):.2f}"
    )
    here = np.searchsorted(thresholds, 0.0)
    axes.plot(recall[here], precision[here], "o", color=line.get_color(), markersize=9)
axes.set(xlabel="recall: share of the fraud that is found", ylabel="precision: share of the alarms that are right")
axes.legend(loc="lower left")
plt.show()

# %%
# The line to remember:

before, after = (recall_score(y_test, model.predict(X_test)) for model in models.values())
print(f"recall of the rare class rises from {before:.2f} to {after:.2f}")
