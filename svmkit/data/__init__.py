"""Data sets: svmlight, CSV, Parquet and NPZ files, built-in sets, and where a name is looked up.

`load` turns a path or a name into a `Dataset`; `available` lists the names that `load` knows; `fetch` brings more.
"""

from svmkit.data.dataset import Dataset
from svmkit.data.encoding import Encoding
from svmkit.data.fetching import fetch
from svmkit.data.loading import load
from svmkit.data.sources import Entry, available, cache_dir

__all__ = ["Dataset", "Encoding", "Entry", "available", "cache_dir", "fetch", "load"]
