"""`python -m covey`."""

from covey.cli import main

main()
