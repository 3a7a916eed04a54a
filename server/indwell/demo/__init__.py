"""The demo: a project with a fault, the scripted model that fixes it, and a small LSP client."""
