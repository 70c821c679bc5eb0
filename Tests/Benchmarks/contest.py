"""Parts shared by the benchmarks: the rounds, timed reads, and runs of curl."""
import mmap
import os
import random
import subprocess
import threading
import time

import rivals
from installation import peak_memory


class Contest:
    """The context of one row group: its installation, file size in bytes, number of rounds and results table."""

    def __init__(self, place, size, rounds, table, with_rivals):
        self.place, self.size, self.rounds, self.table = place, size, rounds, table
        self.with_rivals = with_rivals

    def mounts(self):
        """Returns the classes of the rival filesystems to measure, or an empty list without --rivals."""
        return rivals.mounts() if self.with_rivals else []

    def rival_mounts(self, stack, url):
        """Mounts `url` with each rival, and returns the mounts by the rival's name.

        Closing `stack` unmounts them. A rival that cannot mount or list `url` is omitted.
        """
        mounted = {}
        for rival in self.mounts():
            try:
                mounted[rival.name] = stack.enter_context(rival(self.place, url))
                os.listdir(mounted[rival.name].mount_point)
            except (OSError, RuntimeError, TimeoutError) as error:
                print(f"{rival.name}: {error}", flush=True)
                mounted.pop(rival.name, None)
        return mounted

    def turns(self, contestants, results=None):
        """Calls each contestant's function once per round, in random order, and returns lists of values by contestant.

        The function's argument is the number of the round, from 1. It returns None to skip a round, for example if a
        measurement takes minutes. The values are added to `results` if given. An error of podfs is raised; an error of
        another contestant is printed.
        """
        results = results if results is not None else {}
        for number in range(1, self.rounds + 1):
            for name in random.sample(sorted(contestants), len(contestants)):
                try:
                    value = contestants[name](number)
                    if value is not None:
                        results.setdefault(name, []).append(value)
                except (OSError, RuntimeError, TimeoutError, subprocess.SubprocessError) as error:
                    if name == "podfs":
                        raise
                    print(f"{name}, round {number}: {error}", flush=True)
        return results


def column(results, index, scale=1):
    """Returns, for each contestant, element `index` of each round's tuple, multiplied by `scale`."""
    return {name: [value[index] * scale for value in values] for name, values in results.items()}


def measured(command, output=subprocess.DEVNULL):
    """Runs a program, and returns its elapsed and processor time in seconds, its peak memory in MB, and its output.

    The output is empty unless `output` is subprocess.PIPE. Raises RuntimeError if the exit status is not 0.
    """
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=output, text=True)
    # The peak memory that wait4() reports includes the parent's memory before exec(). The peak in /proc does not.
    peak, ended = [0.0], threading.Event()

    def watch():
        while not ended.wait(0.01):
            try:
                peak[0] = max(peak[0], peak_memory(child.pid))
            except OSError:
                return

    watcher = threading.Thread(target=watch)
    watcher.start()
    told = child.stdout.read() if child.stdout else ""
    _, status, usage = os.wait4(child.pid, 0)
    elapsed = time.monotonic() - begin
    ended.set()
    watcher.join()
    if child.stdout:
        child.stdout.close()
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {child.returncode}")
    return elapsed, usage.ru_utime + usage.ru_stime, peak[0], told


def curl(arguments):
    """Runs curl, and returns the result of `measured`."""
    return measured(["curl", "-s", "-S", "--no-progress-meter", "--fail", "--noproxy", "*", *arguments], subprocess.PIPE)


def timed_read(path, offset, count, direct=False):
    """Opens a file and reads from it. Returns the seconds for the open, and for open and read together.

    With `direct`, the read bypasses the page cache, through which the kernel would read 16 KiB for the first 4 KiB.
    """
    buffer = mmap.mmap(-1, count)  # O_DIRECT needs an aligned buffer.
    begin = time.monotonic()
    descriptor = os.open(path, os.O_RDONLY | (os.O_DIRECT if direct else 0))
    opened = time.monotonic()
    read = os.preadv(descriptor, [buffer], offset)
    end = time.monotonic()
    os.close(descriptor)
    if read != count:
        raise RuntimeError(f"{path}: {read} bytes in place of {count}")
    return opened - begin, end - begin


def timed(command):
    begin = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin
