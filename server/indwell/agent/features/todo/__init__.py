"""The to-do list: steps that the model writes, the user sees and the session keeps (H54)."""
