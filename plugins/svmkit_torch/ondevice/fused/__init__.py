"""The iterations in Triton kernels. It may import `svmkit_torch.ondevice.batch`."""
