"""``python -m ullage``: the command line, where the script is not on the path."""

from ullage.cli import main

if __name__ == "__main__":
    main()
