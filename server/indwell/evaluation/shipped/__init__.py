"""The suite that ships with Indwell: 40 small tasks in Python and JavaScript, made from a seed."""
