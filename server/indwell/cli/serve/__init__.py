"""``indwell serve``: starts the language server and wires its parts."""
