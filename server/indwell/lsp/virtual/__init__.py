"""Virtual documents, created on opening: diff, base, request, transcript."""
