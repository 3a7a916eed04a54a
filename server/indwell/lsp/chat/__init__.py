"""The chat as an ordinary Markdown document ``*.chat.md``: pure parts, wiring in ``register``."""
