"""What happens to features and labels before the kernel: checks, encoding, imputing, scaling."""
