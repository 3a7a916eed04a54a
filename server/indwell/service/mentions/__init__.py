"""Files that a prompt mentions with ``@path``: found, checked and attached."""
