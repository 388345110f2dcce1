"""Studies of many runs: methods compared, and the loss for each k."""
