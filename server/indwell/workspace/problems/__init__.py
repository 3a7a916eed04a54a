"""Problems in files: how an edit changes them, the output of checks, and available checks."""
