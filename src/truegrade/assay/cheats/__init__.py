"""Programs that compute nothing and ask to be paid; one file a channel."""
