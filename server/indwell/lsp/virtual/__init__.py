"""Virtual documents, made when they are opened: diff, base, request, transcript."""
