"""The APIs of models: each module writes requests and reads replies."""
