"""Time: tells the model of hours that passed and of a new day."""
