"""Benchmarks of the mount as a filesystem, beside the disk and the rivals' mounts: listings and cached reads."""
import contextlib
import os
import pathlib
import random
import subprocess
import time

from contest import timed
from feedtext import feed


def drop_caches(what):
    """Drops kernel caches (proc(5), drop_caches): 2 for dentries and inodes, 3 for the page cache too. Needs root."""
    os.sync()
    pathlib.Path("/proc/sys/vm/drop_caches").write_text(str(what))


def remount(place):
    place.run("unmount", str(place.mount_point))
    place.mount()


# ls and find

def listing(contest):
    """Measures listings of a folder of 10,000 episodes, beside files of the same names and sizes on the disk.

    The rivals mount nginx's index page of that folder on the disk.
    """
    place, count = contest.place, 10_000
    port = place.start_nginx()
    (place.www / "feed.xml").write_text(feed("Bench", count, port, "x.mp3", 1_000_000))
    place.run("subscribe", f"http://127.0.0.1:{port}/feed.xml")
    place.mount()
    show = place.mount_point / "Bench"
    disk = place.www / "disk"
    disk.mkdir()
    for name in os.listdir(show):
        if name == "index.html":
            continue  # nginx would send this file in place of a listing.
        (disk / name).touch()
        os.truncate(disk / name, 1_000_000)
    programs = {"ls -l": ["ls", "-l"], "find -ls": ["sh", "-c", 'find "$0" -ls']}
    for name, command in programs.items():
        first, cold, warm = {}, {}, {}
        budgets = (1.0, 1.1) if name == "ls -l" else (1.1, 1.1)

        def run(folder, prepare, command=command):
            for drop, results in [(2, first), (3, cold)]:
                with contextlib.ExitStack() as stack:
                    path = prepare(stack)
                    drop_caches(drop)
                    # Loads the program itself, which is not to be measured, into the page cache.
                    subprocess.run([*command, "/proc/self/fdinfo"], stdout=subprocess.DEVNULL, check=True)
                    results.setdefault(folder, []).append(timed([*command, str(path)]) * 1000)
                    again = timed([*command, str(path)]) * 1000
                    if len(os.listdir(path)) < count:
                        raise RuntimeError("names are missing")
            return again

        def ours(_):
            remount(place)
            return show

        def theirs(rival):
            return lambda stack: stack.enter_context(rival(place, f"http://127.0.0.1:{port}/disk/")).mount_point

        contest.turns({
            "podfs": lambda _: run("podfs", ours), "disk": lambda _: run("disk", lambda _: disk),
            **{r.name: lambda _, r=r: run(r.name, theirs(r)) for r in contest.mounts()}}, warm)
        what = f"{name} of {count:,}"
        contest.table.add(f"{what}, first time", "ms", first, against="disk", budget=budgets[0],
                          note="the rivals also ask the server for each name")
        contest.table.add(f"{what}, nothing in the page cache", "ms", cold, against="disk", budget=budgets[1])
        contest.table.add(f"{what}, again", "ms", warm, against="disk")
    pages = []
    for _ in range(contest.rounds):
        remount(place)
        drop_caches(2)
        time.sleep(0.5)  # The end of the mount before does not count.
        begin = time.monotonic()
        (show / "index.html").stat()
        pages.append((time.monotonic() - begin) * 1000)
    contest.table.add(f"stat of the page of {count:,} episodes, first time", "ms", {"podfs": pages}, limit=2)
    with contextlib.ExitStack() as stack:
        mounts = contest.rival_mounts(stack, f"http://127.0.0.1:{port}/disk/")

        def names(path):
            def run(_):
                begin = time.monotonic()
                os.listdir(path)
                return (time.monotonic() - begin) * 1000
            run(0)
            return run

        times = contest.turns({
            "podfs": names(show), "disk": names(disk),
            **{name: names(mount.mount_point) for name, mount in mounts.items()}})
    contest.table.add(f"names alone of {count:,}", "ms", times, against="disk", limit=50)


# Cached reads

def read_all(path):
    buffer = bytearray(1 << 20)
    begin = time.monotonic()
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
    return time.monotonic() - begin


def read_at_random(path, size, count=20_000):
    offsets = [random.randrange(size // 4096) * 4096 for _ in range(count)]
    descriptor = os.open(path, os.O_RDONLY)
    begin = time.monotonic()
    for offset in offsets:
        os.pread(descriptor, 4096, offset)
    elapsed = time.monotonic() - begin
    os.close(descriptor)
    return elapsed / count * 1e6


def open_and_read(path, count=200):
    begin = time.monotonic()
    for _ in range(count):
        descriptor = os.open(path, os.O_RDONLY)
        os.pread(descriptor, 4096, 0)
        os.close(descriptor)
    return (time.monotonic() - begin) / count * 1e6


def cached(contest):
    """Measures reads of a cached episode, beside the same file on the disk and in the rivals' caches."""
    place, size = contest.place, contest.size
    place.make_file("big.mp3", size)
    place.link("big.mp3", "rival", 1)
    port = place.start_nginx()
    place.subscribe(port, port, ["big.mp3"])
    place.mount()
    paths = {"podfs": place.path(1), "disk": str(place.www / "big.mp3")}
    with contextlib.ExitStack() as stack:
        for name, mount in contest.rival_mounts(stack, f"http://127.0.0.1:{port}/rival/").items():
            paths[name] = mount.path("1.mp3")
        for path in paths.values():
            subprocess.run(["cat", path], check=True, stdout=subprocess.DEVNULL)
        place.wait_until_cached(1)
        cold, again, scattered, opened = {}, {}, {}, {}

        def run(name):
            drop_caches(3)
            for results, value in [
                (cold, read_all(paths[name])), (again, read_all(paths[name])),
                (scattered, read_at_random(paths[name], size)), (opened, open_and_read(paths[name])),
            ]:
                results.setdefault(name, []).append(value)

        contest.turns({name: lambda _, name=name: run(name) for name in paths})
    what = f"{size / 1048576:.0f} MiB"
    contest.table.add(f"cached {what}, cold", "s", cold, against="disk", budget=1 / 0.85)
    contest.table.add(f"cached {what}, re-opened, warm", "s", again, against="disk", budget=2.0)
    contest.table.add("4 KiB at random, cached and warm", "µs", scattered, against="disk", budget=1.0)
    contest.table.add("open, 4 KiB, close, cached and warm", "µs", opened, against="disk")


COMMANDS = {"listing": (listing, 0), "cached": (cached, 1024)}
