"""The standing instructions of a project: finding the files, and telling the model."""
