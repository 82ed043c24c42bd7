"""
Text with sparse features
=========================

From which library does a text come? Thousands of words make thousands of columns, of which a text fills a few dozen:
the matrix stays sparse from the vectorizer to the model. The texts are real and need no download: they are docstrings
of four packages that are installed with svmkit.
"""

# %%
# The first two paragraphs of each docstring, without the names of the libraries, which would tell the answer.

import inspect
import re
from importlib import import_module

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split

from svmkit import SVMClassifier

modules = {
    "matplotlib": "axes axis artist collections colors figure image lines patches text ticker transforms",
    "pandas": "core.frame core.series core.groupby core.indexes.base core.strings.accessor io.api",
    "scipy": "cluster.hierarchy fft integrate interpolate linalg ndimage optimize signal sparse spatial stats",
    "sklearn": "cluster datasets decomposition ensemble linear_model metrics model_selection preprocessing svm tree",
}
found = {}
for library, names in modules.items():
    for name in names.split():
        things = [thing for _, thing in inspect.getmembers(import_module(f"{library}.{name}"), callable)]
        things += [method for thing in things if inspect.isclass(thing) for _, method in inspect.getmembers(thing)]
        for thing in things:
            if str(getattr(thing, "__module__", "")).startswith(library):
                start = " ".join((inspect.getdoc(thing) or "").split("\n\n")[:2])
                found[re.sub(r"matplotlib|pandas|scipy|sklearn|scikit-learn", "", start)] = library
texts, labels = np.array(list(found)), np.array(list(found.values()))
train, test, y, y_test = train_test_split(texts, labels, test_size=0.25, stratify=labels, random_state=0)
print(f"{len(texts):,} texts, such as: {train[y == 'scipy'][0][:90]}...")

# %%
# Words and pairs of words, weighted by how rare they are. A dense copy of this matrix would take more than a gigabyte.

words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
X, X_test = words.fit_transform(train), words.transform(test)
sparse, dense = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 1e6, 8 * X.shape[0] * X.shape[1] / 1e6
print(f"{X.shape[1]:,} columns; {sparse:.0f} MB as it is, {dense:,.0f} MB if it were dense")

# %%
# For text the linear kernel is enough, and ``solver="auto"`` then takes coordinate descent. One model for each library
# against the others has one weight for each word.

model = SVMClassifier(kernel="linear", multiclass="ovr", C=1).fit(X, y)
print(f"{model.status_} in {model.seconds_:.2f} s, certified gap {model.gap_:.1e}")

# %%
# The words that speak most for each library:

names = words.get_feature_names_out()
figure, panels = plt.subplots(1, 4, figsize=(10, 3.2), layout="constrained")
for library, weights, panel in zip(model.classes_, model.coef_, panels, strict=True):
    top = np.argsort(weights)[-8:]
    panel.barh(names[top], weights[top])
    panel.set(title=library, xlabel="weight")
plt.show()

# %%
# Three texts of ten belong to the largest class. The model knows nineteen of twenty, from a sentence or two.

largest = np.unique(y_test, return_counts=True)[1].max() / len(y_test)
print(f"held-out accuracy {model.score(X_test, y_test):.3f}, where the largest class has {largest:.3f}")
