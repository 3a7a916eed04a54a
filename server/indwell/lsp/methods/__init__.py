"""Handlers of requests and commands: each translates, calls one function and answers."""
