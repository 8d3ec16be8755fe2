"""Spiking neurons as operators and modules of PyTorch."""
