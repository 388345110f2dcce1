"""The style and the script of the page."""
