"""Between the method and the release: groups that do not keep a requirement yet."""
