"""What the custodian keeps: the key and the register of releases."""
