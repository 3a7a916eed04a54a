"""Skills: instructions for one kind of task; the model or the user loads a skill."""
