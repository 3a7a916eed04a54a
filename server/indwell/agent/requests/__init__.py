"""Builds and sends one request to the model, within the budgets."""
