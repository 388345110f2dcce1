"""Slow, obvious reference implementations, written from the specification alone."""
