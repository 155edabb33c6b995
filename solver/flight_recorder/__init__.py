"""Dumps of PyTorch's flight recorder: costs and late ranks are both read from their entries."""
