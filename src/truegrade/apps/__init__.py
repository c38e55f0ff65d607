"""What is built on the core: a folder an app, each with its `truegrade.app.App`. No app imports another."""
