"""Skills: instructions for one kind of task, which the model or the user loads."""
