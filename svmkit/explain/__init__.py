"""Explanations of a model's decisions: exact Shapley values, decisive vectors, the nearest change of a label.

It may import `errors`, `runtime`, `data`, `kernels`, `scoring` and `tasks`. Models lie above: `SVMModel.explain` calls
this room, for which a model is any object that satisfies `svmkit.explain.subject.Subject`.
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
