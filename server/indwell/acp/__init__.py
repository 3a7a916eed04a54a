"""Indwell as an agent of the Agent Client Protocol, for Zed, JetBrains and other clients."""
