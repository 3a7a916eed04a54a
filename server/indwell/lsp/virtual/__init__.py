"""Documents that are made when they are looked at: diff, base, request, transcript."""
