"""svmkit: train, certify and compare support vector machines."""
