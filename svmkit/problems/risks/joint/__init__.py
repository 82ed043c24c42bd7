"""Linear risks of all classes at once, in which each class has a weight vector."""
