"""gevent's server in a process that patches before or after Walltime, or after its first transaction."""

import sys

ORDER = sys.argv[1]


def patch() -> None:
    from gevent import monkey

    monkey.patch_all()


if ORDER == "before":
    patch()

import walltime  # noqa: E402

walltime.configure(sample_probability=1.0)
walltime.instrument()
if ORDER == "after a transaction":
    with walltime.transaction("early"):
        pass
if ORDER != "before":
    patch()

import threading  # noqa: E402
import time  # noqa: E402
from concurrent.futures import ThreadPoolExecutor  # noqa: E402

import gevent  # noqa: E402
from gevent.pool import Pool  # noqa: E402


def step() -> None:
    with walltime.component("step"):
        time.sleep(0.001)


def job(_: int) -> None:
    with walltime.transaction("job"):
        gevent.joinall([gevent.spawn(step), gevent.spawn(step)], raise_error=True)
        thread = threading.Thread(target=step)
        thread.start()
        thread.join()
        with ThreadPoolExecutor(1) as pool:
            pool.submit(step).result()


Pool(50).map(job, range(200))
assert walltime.flush(10)
print(walltime.counters()["sent"])
