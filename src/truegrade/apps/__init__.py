"""What is built on the core: a folder an app, each with its `truegrade.app.App`; no app imports another."""
