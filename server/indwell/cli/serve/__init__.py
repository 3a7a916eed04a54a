"""``indwell serve``: starts the language server and gives it its parts."""
