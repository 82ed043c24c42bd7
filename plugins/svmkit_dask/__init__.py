"""Kernel machines that are trained on a Dask cluster, from rows that no single machine needs to hold."""

import lazy_loader as lazy

_FACE = {"estimators": ["DaskSVMClassifier", "DaskSVMRegressor"]}
__getattr__, __dir__, __all__ = lazy.attach(__name__, submod_attrs=_FACE)
