"""Many releases beside each other: methods compared, and the loss for every k."""
