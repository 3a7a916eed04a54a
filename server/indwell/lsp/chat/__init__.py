"""Shows the chat as an ordinary Markdown document ``*.chat.md``, in any editor."""
