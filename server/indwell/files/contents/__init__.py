"""Contents of files: reads them, creates files, and overwrites files atomically or in place."""
