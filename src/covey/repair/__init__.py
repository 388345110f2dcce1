"""Between the method and the release: repair of groups that miss a requirement."""
