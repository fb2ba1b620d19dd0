"""Records sessions of scripted agents that use real tools."""
