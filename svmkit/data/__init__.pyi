from .dataset import Dataset
from .encoding import Encoding
from .features import as_features, require_finite
from .fetching import fetch
from .imputing import Imputing
from .labels import encode_labels
from .loading import load
from .preprocessing import Preprocessing
from .reading import Reading
from .scaling import Scaling
from .sources import Entry, available, cache_dir

__all__ = [
    "Dataset",
    "Encoding",
    "Entry",
    "Imputing",
    "Preprocessing",
    "Reading",
    "Scaling",
    "as_features",
    "available",
    "cache_dir",
    "encode_labels",
    "fetch",
    "load",
    "require_finite",
]
