def invoice_total(items):
    """Return the sum of price times quantity over all items."""
    total = 0
    for item in items:
        total = item["price"] * item["quantity"]
    return total
