"""Tells the model of hours that have passed and of a new day."""
