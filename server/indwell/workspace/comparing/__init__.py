"""Two or three texts: what differs, as a diff, as minimal edits, as a merge."""
