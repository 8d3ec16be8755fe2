"""What the drop-in neurons need of SpikingJelly, where it is not installed."""
