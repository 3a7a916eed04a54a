"""Runs the loop of a turn: each round sends a request and runs the reply's tool calls."""
