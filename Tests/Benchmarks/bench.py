#!/usr/bin/env python3
"""Measures podfs beside curl, in one run and in turns; prints medians and ratios.

    bench.py PODFS throughput|tail|first-byte|kill|listing|start|cached|parked|unmount|change [--size MIB] [--rounds N]

PODFS is the program, built with `-c release`. Needs nginx, curl and the right to mount, for listing and cached also root,
who may drop the kernel's caches; nothing else may be running.
Figures of different runs do not compare: only the ratios do.
"""
import argparse
import os
import random
import statistics
import subprocess
import time

import mounting
from installation import Installation, peak_memory, ticks, wait_for

RTT = 50  # ms


def median(values):
    return statistics.median(values) if values else float("nan")


def curl(arguments):
    """Runs curl; its time and its processor time, in seconds, and what it printed."""
    begin = time.monotonic()
    before = os.times()
    output = subprocess.run(
        ["curl", "-s", "-S", "--fail", "--noproxy", "*", *arguments], check=True, capture_output=True, text=True).stdout
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.monotonic() - begin, cpu, output


def timed_read(path, offset, count):
    """Opens a file and reads from it; seconds for the open and for both."""
    begin = time.monotonic()
    descriptor = os.open(path, os.O_RDONLY)
    opened = time.monotonic()
    data = os.pread(descriptor, count, offset)
    end = time.monotonic()
    os.close(descriptor)
    if len(data) != count:
        raise SystemExit(f"{path}: {len(data)} bytes in place of {count}")
    return opened - begin, end - begin


def throughput(place, size, rounds):
    """A whole file: `cat` through the mount against `curl -o` beside the cache."""
    place.make_file("big.mp3", size)
    port = place.start_nginx()
    place.subscribe(port, port, ["big.mp3"] * rounds)
    place.mount()
    target = str(place.folder / "target")
    results = {"curl": [], "podfs": []}
    extra = []

    def run_curl(_):
        seconds, cpu, _ = curl(["-o", target, f"http://127.0.0.1:{port}/big.mp3"])
        os.unlink(target)
        return seconds, cpu

    def run_podfs(number):
        processes = [place.daemon, place.mount_process]
        before = sum(ticks(pid) for pid in processes)
        begin = time.monotonic()
        subprocess.run(["cat", place.path(number)], check=True, stdout=subprocess.DEVNULL)
        seconds = time.monotonic() - begin
        cpu = sum(ticks(pid) for pid in processes) - before
        place.wait_until_cached(number)
        extra.append((
            time.monotonic() - begin, sum(ticks(pid) for pid in processes) - before,
            sum(peak_memory(pid) for pid in processes)))
        place.run("evict", place.path(number))
        return seconds, cpu

    run_curl(0)  # The file is in the page cache from here on.
    for number in range(1, rounds + 1):
        order = [("curl", run_curl), ("podfs", run_podfs)]
        random.shuffle(order)
        for name, run in order:
            os.sync()
            results[name].append(run(number))
    seconds = {name: median([value[0] for value in values]) for name, values in results.items()}
    cpu = {name: median([value[1] for value in values]) for name, values in results.items()}
    for name in results:
        print(f"{name}: {seconds[name]:.2f} s, {size / seconds[name] / 1e6:.0f} MB/s, {cpu[name]:.2f} CPU s "
              f"(all: {', '.join(f'{value[0]:.2f}' for value in results[name])} s)")
    print(f"until cached: {median([e[0] for e in extra]):.2f} s, {median([e[1] for e in extra]):.2f} CPU s, "
          f"peak of both processes {max(e[2] for e in extra):.0f} MB")
    print(f"throughput {seconds['curl'] / seconds['podfs']:.2f} of curl's (budget 0.9); "
          f"CPU {cpu['podfs'] / cpu['curl']:.2f} times curl's (budget 1.5), with hash and sync "
          f"{median([e[1] for e in extra]) / cpu['curl']:.2f}")


def leave(place, number):
    """Ends the download that a read has begun."""
    place.run("cancel", place.path(number), check=False)


def tail(place, size, rounds):
    """4 KiB at the end right after the open: 2 MB/s a connection, 50 ms away."""
    place.make_file("long.mp3", size)
    place.make_file("short.mp3", 65536)
    server = place.start_nginx("2m")
    port = place.start_proxy(server, RTT)
    # In each round one file for a new daemon, two that leave it with idle connections, and one more.
    place.subscribe(server, port, ["long.mp3", "short.mp3", "short.mp3", "long.mp3"] * rounds)
    place.mount()
    times = {"curl": [], "new": [], "kept": []}
    opens = {"new": [], "kept": []}
    for first in range(1, 4 * rounds + 1, 4):
        times["curl"].append(curl(["-r", f"{size - 4096}-", "-o", "/dev/null", f"http://127.0.0.1:{port}/long.mp3"])[0])
        place.new_daemon()
        for kind, number in [("new", first), ("kept", first + 3)]:
            if kind == "kept":
                for cat in [subprocess.Popen(["cat", place.path(first + n)], stdout=subprocess.DEVNULL) for n in [1, 2]]:
                    cat.wait()
                place.wait_until_cached(first + 1)
                place.wait_until_cached(first + 2)
            opened, whole = timed_read(place.path(number), size - 4096, 4096)
            opens[kind].append(opened)
            times[kind].append(whole)
            leave(place, number)
    report(times, opens)


def first_byte(place, size, rounds):
    """Open and the first 4 KiB, 50 ms away and on the loopback interface itself."""
    place.make_file("long.mp3", size)
    server = place.start_nginx()
    for name, port in [(f"{RTT} ms", place.start_proxy(server, RTT)), ("loopback", server)]:
        place.subscribe(server, port, ["long.mp3"] * 2 * rounds)
        if not place.mounted:
            place.mount()
        times = {"curl": [], "curl kept": [], "new": [], "kept": []}
        opens = {"new": [], "kept": []}
        numbers = iter(range(1, 2 * rounds + 1))
        url = f"http://127.0.0.1:{port}/long.mp3"
        for _ in range(rounds):
            _, _, told = curl(["-w", "%{time_total}\n", "-r", "0-4095", "-o", "/dev/null", url, "-o", "/dev/null", url])
            new, kept = (float(line) for line in told.split())
            times["curl"].append(new)
            times["curl kept"].append(kept)
            place.new_daemon()
            for kind in ["new", "kept"]:
                number = next(numbers)
                opened, whole = timed_read(place.path(number), 0, 4096)
                opens[kind].append(opened)
                times[kind].append(whole)
                # A small file comes whole, so that its connection is kept for the next.
                place.wait_until_cached(number)
        print(name)
        report(times, opens)
        place.run("unsubscribe", "Bench")


def report(times, opens):
    for name, values in times.items():
        text = f"{name}: {median(values) * 1000:.1f} ms ({min(values) * 1000:.1f} to {max(values) * 1000:.1f})"
        if name in opens:
            text += f", of these the open {median(opens[name]) * 1000:.1f}; {median(values) / median(times['curl']):.2f} of curl's"
        print(text)


def kill(place, size, rounds):
    """What is fetched again after every process was killed in mid-transfer."""
    place.make_file("long.mp3", size)
    port = place.start_nginx("20m")
    place.subscribe(port, port, ["long.mp3"] * rounds)
    shares = []
    sent = 0
    for number in range(1, rounds + 1):
        place.mount()
        reader = subprocess.Popen(["cat", place.path(number)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: int(os.getxattr(place.path(number), "user.podfs.bytes_received")) > size // 3, "a third is here")
        daemon, process = place.daemon, place.mount_process
        os.kill(daemon, 9)
        os.kill(process, 9)
        reader.wait()
        wait_for(lambda: place.daemon is None, "the daemon has gone")
        place.mount()
        with open(place.www / "long.mp3", "rb") as file, open(place.path(number), "rb") as copy:
            while piece := file.read(1 << 20):
                if copy.read(1 << 20) != piece:
                    raise SystemExit("the bytes differ")
        place.wait_until_cached(number)
        # nginx writes its line when the answer has ended.
        wait_for(lambda: place.bytes_sent(port, "/long.mp3") - sent >= size, "nginx has written its log")
        time.sleep(0.2)
        now = place.bytes_sent(port, "/long.mp3")
        shares.append((now - sent) / size)
        sent = now
        place.run("unmount", str(place.mount_point))
        place.mounted = False
    print(f"bytes sent / size: {median(shares):.3f} ({', '.join(f'{share:.3f}' for share in shares)}); "
          f"{(median(shares) - 1) * size / 20e6 * 1000:.0f} ms of transfer at 20 MB/s (budget 1000)")


# By name: what to run, and the MiB of its file.
COMMANDS = {
    "throughput": (throughput, 1024), "tail": (tail, 100e6 / 1048576), "first-byte": (first_byte, 0.25),
    "kill": (kill, 60), **mounting.COMMANDS,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("podfs")
    parser.add_argument("what", choices=sorted(COMMANDS))
    parser.add_argument("--size", type=float, help="MiB of the file")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    run, size = COMMANDS[arguments.what]
    with Installation(os.path.abspath(arguments.podfs)) as place:
        run(place, int((arguments.size or size) * 1048576), arguments.rounds)


if __name__ == "__main__":
    main()
