"""Handles requests and commands: each handler translates, calls one function and answers."""
