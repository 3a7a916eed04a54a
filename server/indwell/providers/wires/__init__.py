"""The APIs of model endpoints ("wires"): each module writes requests and reads replies."""
