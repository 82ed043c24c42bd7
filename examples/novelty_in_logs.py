"""
Novelty in logs
===============

A web server's log has thousands of ordinary lines, and nobody knows what the next attack will look like. A one-class
model learns what is ordinary, from ordinary lines alone, and calls the rest new.
"""

# %%
# Requests as a shop's server logs them.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

from svmkit import SVMOneClass

rng = np.random.default_rng(0)
words = [
    "red",
    "blue",
    "green",
    "summer",
    "winter",
    "cotton",
    "wool",
    "shirt",
    "shoes",
    "jacket",
    "socks",
    "women",
    "kids",
]


def ordinary():
    """Return a request of a customer."""
    one, two, number = rng.choice(words), rng.choice(words), rng.integers(1, 9999)
    return rng.choice(
        [
            f"GET /shop/{one}/{two}?page={number % 20 + 1} 200",
            f"GET /product/{number:05d}-{one}-{two}.html 200",
            f"GET /search?q={one}+{two}&sort=price 200",
            f"GET /static/img/{one}_{number % 300}.jpg {rng.choice([200, 304])}",
            f"POST /cart/add?id={number:05d}&n={number % 4 + 1} 302",
            f"GET /account/orders/{number} {rng.choice([200, 200, 200, 404])}",
        ]
    )


def attack(kind):
    """Return a request of somebody else."""
    one, number = rng.choice(words), rng.integers(1, 9999)
    return {
        "SQL injection": f"GET /search?q={one}'+UNION+SELECT+{number},user,password+FROM+users-- 500",
        "path traversal": f"GET /static/img/{'../' * rng.integers(3, 8)}etc/passwd 403",
        "script injection": f"GET /search?q=<script>alert({number})</script>&sort=price 200",
        "scanner": f"GET /{rng.choice(['wp-login', 'phpmyadmin/index', 'admin/config', 'xmlrpc'])}.php?{one} 404",
        "order harvesting": f"GET /account/orders/{number * 1000} 404",
    }[kind]


kinds = ["SQL injection", "path traversal", "script injection", "scanner", "order harvesting"]
known, apart = [ordinary() for _ in range(3000)], [ordinary() for _ in range(1000)]
later = [ordinary() for _ in range(2000)]
attacks = {kind: [attack(kind) for _ in range(100)] for kind in kinds}
print(*known[:4], *(lines[0] for lines in attacks.values()), sep="\n")

# %%
# Sequences of two to four characters become sparse columns, hashed, so that sequences which never came before count,
# too. One of a hundred ordinary lines may give a false alarm: lines that the model has not seen set that threshold.

grams = HashingVectorizer(analyzer="char", ngram_range=(2, 4), alternate_sign=False, n_features=2**16)
model = SVMOneClass(loss="hinge", nu=0.01, gamma=1.0).fit(grams.transform(known))
threshold = np.quantile(model.decision_function(grams.transform(apart)), 0.01)
print(f"{model.status_}, {len(model.support_)} support vectors, certified gap {model.gap_:.1e}")

# %%
# Lines that came later, customers' and others:

ordinary_scores = model.decision_function(grams.transform(later))
scores = {kind: model.decision_function(grams.transform(lines)) for kind, lines in attacks.items()}
figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
axes.boxplot([ordinary_scores, *scores.values()], orientation="horizontal", whis=(0, 100))
axes.set_yticks(range(1, len(scores) + 2), ["ordinary", *scores])
axes.invert_yaxis()
axes.axvline(threshold, color="0.5", linestyle="--", linewidth=1, label="threshold: new to the left")
axes.set_xlabel("decision")
axes.legend()
plt.show()

# %%
# The model has seen no attack, and was told nothing about any.

for kind, values in scores.items():
    print(f"{kind:16}  {np.mean(values < threshold):4.0%} found")
share = np.mean(np.concatenate(list(scores.values())) < threshold)
alarms = np.mean(ordinary_scores < threshold)
print(f"found {share:.3f} of the attacks, with {alarms:.3f} of the ordinary lines as false alarms")
