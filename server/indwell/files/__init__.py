"""All access to the disk: other packages open, write and list paths only through this package."""
