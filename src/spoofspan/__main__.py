"""``python -m spoofspan``: the command line where its script is not on the path."""

from spoofspan.cli import main

if __name__ == "__main__":
    main()
