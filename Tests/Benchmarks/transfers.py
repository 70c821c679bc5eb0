"""Benchmarks of whole files: throughput, processor time, memory, simultaneous readers, and recovery after SIGKILL."""
import contextlib
import os
import subprocess
import threading
import time

from contest import column, curl
from installation import peak_memory, peak_shared_once, reset_peak, threads_of, ticks, wait_for


def throughput(contest):
    """Measures `cat` of a whole uncached file through the mount, beside `curl -o` to the same filesystem."""
    place, size, rounds = contest.place, contest.size, contest.rounds
    place.make_file("big.mp3", size)
    port = place.start_nginx()
    place.link("big.mp3", "rival", 1)
    place.subscribe(port, port, ["big.mp3"] * rounds)
    place.mount()
    target = str(place.folder / "target")
    whole = []

    def run_curl(_):
        os.sync()
        seconds, cpu, memory, _ = curl(["-o", target, f"http://127.0.0.1:{port}/big.mp3"])
        os.unlink(target)
        return seconds, cpu, memory

    def run_podfs(number):
        os.sync()
        processes = [place.daemon, place.mount_process]
        for pid in processes:
            reset_peak(pid)
        before = sum(ticks(pid) for pid in processes)
        begin = time.monotonic()
        subprocess.run(["cat", place.path(number)], check=True, stdout=subprocess.DEVNULL)
        seconds = time.monotonic() - begin
        cpu = sum(ticks(pid) for pid in processes) - before
        place.wait_until_cached(number)
        whole.append((time.monotonic() - begin, sum(ticks(pid) for pid in processes) - before))
        memory = sum(peak_memory(pid) for pid in processes)
        own = sum(peak_shared_once(pid) for pid in processes)
        place.run("evict", place.path(number))
        return seconds, cpu, memory, own

    def run_rival(rival):
        def run(_):
            os.sync()
            # A new mount in each round, so that its cache is empty and its memory has not grown.
            with rival(place, f"http://127.0.0.1:{port}/rival/") as mount:
                os.listdir(mount.mount_point)
                reset_peak(mount.pid)
                before = ticks(mount.pid)
                begin = time.monotonic()
                subprocess.run(["cat", mount.path("1.mp3")], check=True, stdout=subprocess.DEVNULL)
                seconds = time.monotonic() - begin
                return seconds, ticks(mount.pid) - before, peak_memory(mount.pid), peak_shared_once(mount.pid)
        return run

    run_curl(0)  # The file is in the page cache from here on.
    contestants = {"podfs": run_podfs, "curl": run_curl, **{r.name: run_rival(r) for r in contest.mounts()}}
    results = contest.turns(contestants)
    what = f"{size / 1048576:.0f} MiB uncached, loopback"
    contest.table.add(what, "s", column(results, 0), against="curl", budget=1.0)
    contest.table.add(f"{what}: CPU", "s", column(results, 1), against="curl", budget=1.5)
    contest.table.add(f"{what}: CPU until synced and hashed", "s",
                      {"podfs": [w[1] for w in whole], "curl": column(results, 1)["curl"]}, against="curl", note="curl neither syncs nor hashes")
    contest.table.add(f"{what}: until synced and hashed", "s", {"podfs": [w[0] for w in whole]})
    contest.table.add(f"{what}: peak memory", "MB", column(results, 2), against="curl", limit=60,
                      note="of daemon and mount, from the first read on; libraries that both have mapped count twice")
    contest.table.add(f"{what}: peak memory, shared pages once", "MB",
                      column({name: values for name, values in results.items() if name != "curl"}, 3),
                      limit=60, note="by Pss; libraries that other programs have mapped count in part")


def readers(contest):
    """Measures 100 threads that each open a file, read its first 4 KiB and then the rest.

    On loopback, and at an RTT of 50 ms. The bytes of every file are verified.
    """
    place, size, count = contest.place, contest.size, 100
    names = [f"many-{n}.mp3" for n in range(1, count + 1)]
    for name in names:
        place.make_file(name, size)
    server = place.start_nginx()
    for text, port in [("loopback", server), ("50 ms RTT", place.start_proxy(server, 50))]:
        place.subscribe(server, port, names * contest.rounds)
        if not place.mounted:
            place.mount()
        os.listdir(place.mount_point / "Bench")
        memory, threads = {}, []

        def read_all(path_of):
            times, faults = [], []

            def read(n):
                try:
                    descriptor = os.open(path_of(n), os.O_RDONLY)
                    data = os.pread(descriptor, 4096, 0)
                    times.append(time.monotonic() - begin)
                    while piece := os.pread(descriptor, 1 << 20, len(data)):
                        data += piece
                    os.close(descriptor)
                    if data != (place.www / names[n]).read_bytes():
                        faults.append("the bytes differ")
                except OSError as error:
                    faults.append(str(error))

            begin = time.monotonic()
            workers = [threading.Thread(target=read, args=[n]) for n in range(count)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            if faults:
                raise RuntimeError(f"{len(faults)} of {count}: {faults[0]}")
            return max(times), time.monotonic() - begin

        def run_podfs(number):
            processes = [place.daemon, place.mount_process]
            for pid in processes:
                reset_peak(pid)
            result = read_all(lambda n: place.path(count * (number - 1) + n + 1))
            memory.setdefault("podfs", []).append(
                (sum(map(peak_memory, processes)), sum(map(peak_shared_once, processes))))
            threads.append(sum(threads_of(pid) for pid in processes))
            return result

        def run_curl(_):
            urls = [part for name in names for part in ["-o", "/dev/null", f"http://127.0.0.1:{port}/{name}"]]
            seconds = curl(["--parallel", "--parallel-max", "100", "-r", "0-4095", *urls])[0]
            return seconds, curl(["--parallel", "--parallel-max", "100", *urls])[0]

        def run_rival(rival):
            def run(_):
                with rival(place, f"http://127.0.0.1:{port}/") as mount:
                    os.listdir(mount.mount_point)
                    reset_peak(mount.pid)
                    result = read_all(lambda n: mount.path(names[n]))
                    memory.setdefault(rival.name, []).append((peak_memory(mount.pid), peak_shared_once(mount.pid)))
                    return result
            return run

        results = contest.turns(
            {"podfs": run_podfs, "curl": run_curl, **{r.name: run_rival(r) for r in contest.mounts()}})
        contest.table.add(f"100 first reads at once, {text}: the last", "ms", column(results, 0, 1000), against="curl")
        contest.table.add(f"100 files of {size >> 20} MiB at once, {text}", "ms", column(results, 1, 1000), against="curl")
        contest.table.add(f"100 readers, {text}: peak memory", "MB", column(memory, 0), limit=150,
                          note="of daemon and mount, from the first read on; libraries that both have mapped count twice")
        contest.table.add(f"100 readers, {text}: peak memory, shared pages once", "MB", column(memory, 1), limit=150)
        contest.table.add(f"100 readers, {text}: threads", "threads", {"podfs": threads})
        place.run("unsubscribe", "Bench")


def kill(contest):
    """Measures how much is fetched again after all processes were killed (SIGKILL) during a transfer.

    The unit is milliseconds of transfer at 20 MB/s, the rate of the server.
    """
    place, size = contest.place, contest.size
    place.make_file("long.mp3", size)
    place.link("long.mp3", "rival", contest.rounds)
    port = place.start_nginx("20m")
    place.subscribe(port, port, ["long.mp3"] * contest.rounds)
    sent = {}

    def again(uri, already=0):
        """Returns the bytes sent for `uri` in excess of the file's size, as milliseconds of transfer at 20 MB/s.

        `already` is the number of bytes sent for `uri` before.
        """
        # nginx writes the line to its log when the response has ended.
        wait_for(lambda: place.bytes_sent(port, uri) - already >= size, "nginx has written its log")
        time.sleep(0.2)
        return (place.bytes_sent(port, uri) - already - size) / 20e6 * 1000

    def compare(path):
        with open(place.www / "long.mp3", "rb") as file, open(path, "rb") as copy:
            while piece := file.read(1 << 20):
                if copy.read(1 << 20) != piece:
                    raise RuntimeError("the bytes differ")

    def run_podfs(number):
        place.mount()
        reader = subprocess.Popen(["cat", place.path(number)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: int(os.getxattr(place.path(number), "user.podfs.bytes_received")) > size // 3, "a third is here")
        daemon, process = place.daemon, place.mount_process
        os.kill(daemon, 9)
        os.kill(process, 9)
        reader.wait()
        wait_for(lambda: place.daemon is None, "the daemon has gone")
        place.mount()
        compare(place.path(number))
        place.wait_until_cached(number)
        result = again("/long.mp3", sent.get("podfs", 0))
        sent["podfs"] = place.bytes_sent(port, "/long.mp3")
        place.run("unmount", str(place.mount_point))
        place.mounted = False
        return result

    def run_rival(rival):
        def run(number):
            uri = f"/rival/{number}.mp3"
            before = place.bytes_sent(port, uri)
            with rival(place, f"http://127.0.0.1:{port}/rival/") as mount:
                os.listdir(mount.mount_point)
                descriptor = os.open(mount.path(f"{number}.mp3"), os.O_RDONLY)
                while len(os.read(descriptor, 1 << 20)) and os.lseek(descriptor, 0, os.SEEK_CUR) < size // 3:
                    pass
                # The file is still open, as in a player.
                mount.kill()
                with contextlib.suppress(OSError):
                    os.close(descriptor)
                mount.start()
                os.listdir(mount.mount_point)
                compare(mount.path(f"{number}.mp3"))
                return again(uri, before)
        return run

    results = contest.turns({"podfs": run_podfs, **{r.name: run_rival(r) for r in contest.mounts()}})
    contest.table.add("fetched again after kill -9 of all at 20 MB", "ms of transfer", results, limit=1000)


COMMANDS = {"throughput": (throughput, 1024), "readers": (readers, 1), "kill": (kill, 60)}
