"""Problems in files: the effect of an edit, the output of checks, and available checks."""
