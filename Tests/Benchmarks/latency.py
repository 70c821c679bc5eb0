"""Benchmarks of latency: the first bytes, the last bytes, and a player's seeks."""
import contextlib
import functools
import os
import random
import subprocess
import time

from contest import column, curl, timed_read

RTT = 50  # ms


def leave(place, number):
    """Cancels the download that a read has started."""
    place.run("cancel", place.path(number), check=False)


# The episodes that a round opens, by index. FIRST: the first one of a new daemon. The next two leave the daemon with
# idle connections; a rival has such connections because its mount runs during all rounds. KEPT: one on such a
# connection. NEW: one from a host without a connection. OPENED: the number of episodes in a round.
FIRST, KEPT, NEW, OPENED = 0, 3, 4, 5


def first_byte(contest):
    """Measures open plus a read of the first 4 KiB, at an RTT of 0 ms (loopback without proxy), 50 ms and 200 ms."""
    place, size, rounds = contest.place, contest.size, contest.rounds
    place.make_file("long.mp3", size)
    place.link("long.mp3", "rival", rounds)
    server = place.start_nginx(hosts=rounds + 1)
    for rtt, port in [(rtt, place.start_proxy(server, rtt) if rtt else server) for rtt in [0, RTT, 200]]:
        # Each episode of NEW is on a host of its own, so that no connection to the host exists.
        hosts = [n + 2 if turn == NEW else 1 for n in range(rounds) for turn in range(OPENED)]
        place.subscribe(server, port, ["long.mp3"] * len(hosts), hosts)
        if not place.mounted:
            place.mount()
        url = f"http://127.0.0.1:{port}/long.mp3"
        times = {turn: {} for turn in [FIRST, NEW, KEPT]}
        opens = {turn: [] for turn in times}

        def run_curl(_):
            told = curl(["-w", "%{time_total}\n", "-r", "0-4095", "-o", "/dev/null", url, "-o", "/dev/null", url])[3]
            first, second = (float(line) for line in told.split())
            for turn in [FIRST, NEW]:
                times[turn].setdefault("curl", []).append(first)
            return second

        def run_podfs(number):
            place.new_daemon()
            for turn in range(OPENED):
                episode = OPENED * (number - 1) + turn + 1
                opened, whole = timed_read(place.path(episode), 0, 4096)
                if turn in times:
                    opens[turn].append(opened)
                    times[turn].setdefault("podfs", []).append(whole)
                # The file is small: when all of it has arrived, its connection is kept for the next episode.
                place.wait_until_cached(episode)

        with contextlib.ExitStack() as stack:
            mounts = contest.rival_mounts(stack, f"http://127.0.0.1:{port}/rival/")
            rivals = {name: lambda n, mount=mount: timed_read(mount.path(f"{n}.mp3"), 0, 4096)[1]
                      for name, mount in mounts.items()}
            contest.turns({"podfs": run_podfs, "curl": run_curl, **rivals}, times[KEPT])
        for turn, kind in [(NEW, "new connection"), (KEPT, "kept connection"), (FIRST, "the first of a daemon")]:
            values = in_milliseconds(times[turn])
            budget = {} if turn == FIRST else {"budget": 1.05} if rtt else {"limit": 1.5}
            opened = sorted(opens[turn])[len(opens[turn]) // 2] * 1000
            contest.table.add(f"open + first 4 KiB, RTT {rtt} ms, {kind}", "ms", values, against="curl",
                              note=f"of podfs's the open {opened:.1f} ms", **budget)
        place.run("unsubscribe", "Bench")


def tail(contest):
    """Measures open plus a read of the last 4 KiB, and that read alone, at RTT 50 ms and 2 MB/s per connection."""
    place, size, rounds = contest.place, contest.size, contest.rounds
    place.make_file("long.mp3", size)
    place.make_file("short.mp3", 65536)
    place.link("long.mp3", "rival", rounds)
    for number in range(1, rounds + 1):
        place.link("long.mp3", f"rival/new-{number}", 1)
    server = place.start_nginx("2m")
    port = place.start_proxy(server, RTT)
    # The episodes of a round: one for a new daemon, two that leave it with idle connections, and one that uses these.
    place.subscribe(server, port, ["long.mp3", "short.mp3", "short.mp3", "long.mp3"] * rounds)
    place.mount()
    url = f"http://127.0.0.1:{port}/long.mp3"
    # For rivals, `kept` has the reads in a folder that they have not listed: they know as little of the file as podfs
    # of an episode that was never opened. `reads["kept"]` has those in a listed folder: for the listing, they have
    # requested the size of each file.
    new, kept, reads = {}, {}, {"new": {}, "kept": {}}

    def run_curl(_):
        told = curl(["-w", "%{time_total}\n", "-r", f"{size - 4096}-", "-o", "/dev/null", url, "-o", "/dev/null", url])[3]
        first, second = (float(line) for line in told.split())
        new.setdefault("curl", []).append(first)
        return second

    def run_podfs(number):
        first = 4 * number - 3
        place.new_daemon()
        for kind, episode in [("new", first), ("kept", first + 3)]:
            if kind == "kept":
                for cat in [subprocess.Popen(["cat", place.path(first + n)], stdout=subprocess.DEVNULL) for n in [1, 2]]:
                    cat.wait()
                place.wait_until_cached(first + 1)
                place.wait_until_cached(first + 2)
            opened, whole = timed_read(place.path(episode), size - 4096, 4096)
            reads[kind].setdefault("podfs", []).append(whole - opened)
            if kind == "new":
                new.setdefault("podfs", []).append(whole)
            leave(place, episode)
        return whole

    with contextlib.ExitStack() as stack:
        mounts = contest.rival_mounts(stack, f"http://127.0.0.1:{port}/rival/")

        def run_rival(name, mount, number):
            listed = timed_read(mount.path(f"{number}.mp3"), size - 4096, 4096)[1]
            reads["kept"].setdefault(name, []).append(listed)
            return timed_read(mount.path(f"new-{number}/1.mp3"), size - 4096, 4096)[1]

        rivals = {name: functools.partial(run_rival, name, mount) for name, mount in mounts.items()}
        contest.turns({"podfs": run_podfs, "curl": run_curl, **rivals}, kept)
    what = f"4 KiB at the end of {size / 1e6:.0f} MB, 2 MB/s, RTT {RTT} ms"
    for kind, times, bound in [("new", new, {"budget": 1.05}), ("kept", kept, {"limit": 1.1 * RTT})]:
        contest.table.add(f"{what}, open and read, {kind} connection", "ms", in_milliseconds(times), against="curl",
                          limit=60 if kind == "kept" else None,
                          note="podfs's open waits for a head, once for each episode; rivals list the folder")
        contest.table.add(f"{what}, read alone, {kind} connection", "ms",
                          in_milliseconds({**reads[kind], "curl": times["curl"]}), against="curl",
                          note="of rivals with the open, for which they have asked in their listing", **bound)


def in_milliseconds(times):
    return {name: [value * 1000 for value in values] for name, values in times.items()}


def seek(contest):
    """Measures a player's reads of 64 KiB: at the start, at the end, then at ten random offsets.

    RTT 50 ms, 2 MB/s per connection.
    """
    place, size = contest.place, contest.size
    piece = 65536
    place.make_file("long.mp3", size)
    place.link("long.mp3", "rival", contest.rounds)
    server = place.start_nginx("2m")
    port = place.start_proxy(server, RTT)
    place.subscribe(server, port, ["long.mp3"] * contest.rounds)
    place.mount()
    steps = {n: [0, size - piece, *(random.randrange(size - piece) for _ in range(10))]
             for n in range(1, contest.rounds + 1)}

    def walk(path, number):
        begin, longest = time.monotonic(), 0
        descriptor = os.open(path, os.O_RDONLY)
        with open(place.www / "long.mp3", "rb") as file:
            for offset in steps[number]:
                asked = time.monotonic()
                data = b""
                while len(data) < piece:
                    got = os.pread(descriptor, piece - len(data), offset + len(data))
                    if not got:
                        raise RuntimeError("the file ended early")
                    data += got
                longest = max(longest, time.monotonic() - asked)
                file.seek(offset)
                if data != file.read(piece):
                    raise RuntimeError("the bytes differ")
        elapsed = time.monotonic() - begin
        os.close(descriptor)
        return elapsed, longest

    def run_podfs(number):
        result = walk(place.path(number), number)
        leave(place, number)
        return result

    def run_curl(number):
        arguments = ["-w", "%{time_total}\n"]
        for offset in steps[number]:
            arguments += ["-r", f"{offset}-{offset + piece - 1}", "-o", "/dev/null", f"http://127.0.0.1:{port}/long.mp3",
                          "--next", "-s", "-S", "--noproxy", "*", "-w", "%{time_total}\n"]
        arguments = arguments[:-7]
        seconds, _, _, told = curl(arguments)
        return seconds, max(float(line) for line in told.split())

    with contextlib.ExitStack() as stack:
        mounts = contest.rival_mounts(stack, f"http://127.0.0.1:{port}/rival/")
        rivals = {name: lambda n, mount=mount: walk(mount.path(f"{n}.mp3"), n) if n <= 3 else None
                  for name, mount in mounts.items()}
        results = contest.turns({"podfs": run_podfs, "curl": run_curl, **rivals})
    what = f"head, tail and 10 seeks in {size / 1e6:.0f} MB, 2 MB/s, RTT {RTT} ms"
    contest.table.add(what, "ms", column(results, 0, 1000), against="curl",
                      note="curl asks for just these ranges on one connection")
    contest.table.add(f"{what}: the longest wait", "ms", column(results, 1, 1000), against="curl")


COMMANDS = {"first-byte": (first_byte, 0.25), "tail": (tail, 100e6 / 1048576), "seek": (seek, 100e6 / 1048576)}
