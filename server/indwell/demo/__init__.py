"""The demo: a made-up project with a fault, and the scripted model that mends it."""
