"""Models of other software: text files of LIBSVM and LIBLINEAR, read and written, and estimators of scikit-learn."""
