"""Every published method in plain Python, as its paper reads."""
