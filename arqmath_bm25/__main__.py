"""`python -m arqmath_bm25` is the command line program."""

from arqmath_bm25.cli import main

if __name__ == "__main__":
    main()
