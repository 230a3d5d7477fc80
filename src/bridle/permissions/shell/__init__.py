"""What a command line could run: `analyse` names every command, or says what has no name."""
