"""Creates virtual documents when they are opened: diff, base, request, transcript."""
