"""Builds and sends requests to the model, within the budgets."""
