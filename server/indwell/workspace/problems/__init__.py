"""Problems of files: what an edit did to them, what checks say, which checks there are."""
