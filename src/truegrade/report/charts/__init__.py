"""Every chart of the reports, drawn as SVG without a library: a plotting library weighs 1 to 5 MB a page."""
