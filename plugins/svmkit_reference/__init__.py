"""Reference software behind the same interface: LIBSVM, LIBLINEAR, scikit-learn-intelex; found through entry points."""
