"""``python -m spoofspan``: the command line."""

from spoofspan.cli import main

if __name__ == "__main__":
    main()
