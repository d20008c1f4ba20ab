"""`python -m walltime gunicorn shop:app`: what walltime-run does, with this Python."""

from walltime_run import main

if __name__ == "__main__":
    main()
