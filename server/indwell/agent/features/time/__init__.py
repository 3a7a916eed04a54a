"""Time: what the model hears of hours that went by, and of a new day."""
