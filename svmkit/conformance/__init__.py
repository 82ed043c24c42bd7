"""What every plugin must satisfy: the checks behind `svmkit check NAME`, for use in the tests of plugin packages too.

It may import all rooms from `errors` to `estimators`. `check_plugin` runs the checks; the table CHECKS holds
them by kind. `judge_fit` compares what a run claims with long double arithmetic of its own.

    from svmkit.conformance import check_plugin
    assert not [r for r in check_plugin("mine") if r.problem]
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
