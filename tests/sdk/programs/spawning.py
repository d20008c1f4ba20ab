"""A program whose work is done by processes that multiprocessing spawns, and one that it starts itself."""

import multiprocessing
import subprocess
import sys


def work() -> None:
    import once  # type: ignore[import-not-found]

    assert once


if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=work)
    process.start()
    process.join()
    assert process.exitcode == 0
    subprocess.run([sys.executable, "-m", "once"], check=True)
