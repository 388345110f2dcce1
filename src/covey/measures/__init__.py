"""Measure what a release has lost, and what it is still good for."""
