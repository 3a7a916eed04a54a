"""The tools that the model may call, and the table that holds them."""
