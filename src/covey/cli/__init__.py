"""The command line: it parses, calls the library, and shows what came back."""
