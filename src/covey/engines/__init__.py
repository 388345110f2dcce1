"""Tables of any size: the same release in parts, on one machine or on many."""
