"""The mount as a filesystem: listings, cached reads, readers that wait, changes, beside the same on the disk."""
import mmap
import os
import pathlib
import random
import socket
import statistics
import subprocess
import threading
import time

from installation import peak_memory, resident_memory, threads_of, wait_for

FEED_HEAD = "<rss version='2.0'><channel><title>{}</title>"
FEED_ITEM = ("<item><title>Episode {n}</title><guid>{n}</guid><pubDate>{day} Jan 2026 {h:02}:{m:02}:{s:02} +0000</pubDate>"
             "<enclosure type='audio/mpeg' length='{length}' url='http://127.0.0.1:{port}/{name}?n={n}'/></item>")


def feed(title, count, port, name, length):
    items = "".join(
        FEED_ITEM.format(n=n, day=n % 28 + 1, h=n // 3600 % 24, m=n // 60 % 60, s=n % 60, length=length, port=port, name=name)
        for n in range(1, count + 1))
    return FEED_HEAD.format(title) + items + "</channel></rss>"


def drop_caches(what):
    """2: names and inodes; 3: contents of files as well. Needs root."""
    os.sync()
    pathlib.Path("/proc/sys/vm/drop_caches").write_text(str(what))


def timed(command):
    begin = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def print_ratio(what, ours, theirs, budget, unit="ms", scale=1000):
    ours, theirs = statistics.median(ours) * scale, statistics.median(theirs) * scale
    print(f"{what}: podfs {ours:.1f} {unit}, disk {theirs:.1f} {unit}: {ours / theirs:.2f} ({budget})")


def remount(place):
    place.run("unmount", str(place.mount_point))
    place.mount()


# ls and find

def listing(place, size, rounds):
    """A folder of 10,000 episodes against the same names and sizes on the disk."""
    count = 10_000
    port = place.start_nginx()
    (place.www / "feed.xml").write_text(feed("Bench", count, port, "x.mp3", 1_000_000))
    place.run("subscribe", f"http://127.0.0.1:{port}/feed.xml")
    place.mount()
    show = place.mount_point / "Bench"
    disk = place.folder / "disk"
    disk.mkdir()
    for name in os.listdir(show):
        (disk / name).touch()
        os.truncate(disk / name, 1_000_000)
    programs = {"ls -l": ["ls", "-l"], "find -ls": ["sh", "-c", 'find "$0" -ls']}
    for name, command in programs.items():
        first, cold, warm = ({"podfs": [], "disk": []} for _ in range(3))
        for _ in range(rounds):
            for folder, times in random.sample([(show, "podfs"), (disk, "disk")], 2):
                for drop, results in [(2, first), (3, cold)]:
                    remount(place)
                    drop_caches(drop)
                    # The program itself is not what is measured.
                    subprocess.run([*command, "/proc/self/fdinfo"], stdout=subprocess.DEVNULL, check=True)
                    results[times].append(timed([*command, str(folder)]))
                warm[times].append(timed([*command, str(folder)]))
        print_ratio(f"{name}, first time", first["podfs"], first["disk"], "budget 1.0")
        print_ratio(f"{name}, nothing in the page cache", cold["podfs"], cold["disk"], "no budget")
        print_ratio(f"{name}, again", warm["podfs"], warm["disk"], "no budget")
    times = []
    for _ in range(4 * rounds):
        begin = time.monotonic()
        names = len(os.listdir(show))
        times.append(time.monotonic() - begin)
    print(f"names alone of {names} files: {statistics.median(times) * 1000:.1f} ms, {min(times) * 1000:.1f} at least (budget 50)")


# Start and memory

def start(place, size, rounds):
    """A library of 1,000 shows of 300 episodes."""
    shows, episodes = 1_000, 300
    port = place.start_nginx()
    for number in range(1, shows + 1):
        (place.www / f"{number}.xml").write_text(feed(f"Show {number}", episodes, port, "x.mp3", 1_000_000))
    outlines = "".join(
        f"<outline type='rss' text='Show {n}' xmlUrl='http://127.0.0.1:{port}/{n}.xml'/>" for n in range(1, shows + 1))
    (place.folder / "list.opml").write_text(f"<opml version='2.0'><body>{outlines}</body></opml>")
    print("importing", flush=True)
    place.run("import", str(place.folder / "list.opml"))
    for kind in ["daemon runs", "daemon starts"]:
        times, ready, listed, peak = [], [], [], []
        for _ in range(rounds):
            if kind == "daemon starts":
                place.kill_daemon(15)
            begin = time.monotonic()
            place.mount()
            times.append(time.monotonic() - begin)
            process = place.mount_process
            ready.append(resident_memory(process))
            subprocess.run(["find", str(place.mount_point), "-ls"], check=True, stdout=subprocess.DEVNULL)
            listed.append(resident_memory(process))
            peak.append(peak_memory(process))
            place.run("unmount", str(place.mount_point))
            place.mounted = False
        print(f"{kind}: mounted after {statistics.median(times) * 1000:.0f} ms (budget 200, {max(times) * 1000:.0f} at most); "
              f"resident {max(ready):.0f} MB when ready, {max(listed):.0f} MB after find over {shows * episodes} episodes, "
              f"peak {max(peak):.0f} MB (budget 60)")


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
    return elapsed


def cached(place, size, rounds):
    """An episode that is cached against the same file on the disk."""
    place.make_file("big.mp3", size)
    port = place.start_nginx()
    place.subscribe(port, port, ["big.mp3"])
    place.mount()
    subprocess.run(["cat", place.path(1)], check=True, stdout=subprocess.DEVNULL)
    place.wait_until_cached(1)
    paths = {"podfs": place.path(1), "disk": str(place.www / "big.mp3")}
    results = {what: {"podfs": [], "disk": []} for what in ["cold", "again", "random"]}
    for _ in range(rounds):
        for name, path in random.sample(sorted(paths.items()), 2):
            drop_caches(3)
            results["cold"][name].append(read_all(path))
            results["again"][name].append(read_all(path))
            results["random"][name].append(read_at_random(path, size))
    for what, budget in [("cold", 0.85), ("again", 0.5), ("random", 1.0)]:
        ours, theirs = (statistics.median(results[what][name]) for name in ["podfs", "disk"])
        print(f"{what}: podfs {ours:.3f} s, disk {theirs:.3f} s: {theirs / ours:.2f} of the disk's speed (budget {budget})")


# Readers that wait

class StalledServer:
    """Answers with a head and no body, and keeps the connection."""

    def __init__(self, length):
        self.length = length
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.socket.getsockname()[1]
        self.connections = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self.serve, args=[connection], daemon=True).start()

    def serve(self, connection):
        request = b""
        while b"\r\n\r\n" not in request:
            piece = connection.recv(65536)
            if not piece:
                return
            request += piece
        begin = 0
        for line in request.decode("latin-1").lower().split("\r\n"):
            if line.startswith("range: bytes="):
                begin = int(line[13:].split("-")[0])
        connection.sendall(
            f"HTTP/1.1 206 Partial Content\r\nContent-Type: audio/mpeg\r\nETag: \"1\"\r\n"
            f"Content-Range: bytes {begin}-{self.length - 1}/{self.length}\r\n"
            f"Content-Length: {self.length - begin}\r\n\r\n".encode())


def start_readers(place, files, per_file, length):
    """Processes that read 4 KiB each; returns when all of them wait in the kernel."""
    readers = []
    for number in range(1, files + 1):
        for place_in_file in range(per_file):
            child = os.fork()
            if child == 0:
                try:
                    descriptor = os.open(place.path(number), os.O_RDONLY)
                    os.pread(descriptor, 4096, length // per_file * place_in_file)
                finally:
                    os._exit(0)
            readers.append(child)
    wait_for(lambda: place.waiting_requests >= files * per_file, "all readers wait")
    return readers


def stalled_show(place, files, length):
    """A show of which the last episode is cached, and the others wait for a server that sends nothing."""
    (place.folder / "config_home" / "podfs" / "config.toml").write_text(
        '[transfers]\nstall = "3600 s"\nreader_deadline = "3600 s"\n')
    place.make_file("small.mp3", 1 << 20)
    port = place.start_nginx()
    server = StalledServer(length)
    items = "".join(
        FEED_ITEM.format(n=n, day=1, h=0, m=0, s=0, length=length, port=server.port, name="big.mp3")
        for n in range(1, files + 1))
    items += FEED_ITEM.format(n=files + 1, day=1, h=0, m=0, s=0, length=1 << 20, port=port, name="small.mp3")
    (place.www / "feed.xml").write_text((FEED_HEAD.format("Bench") + items + "</channel></rss>").replace(
        "<pubDate>1 Jan 2026 00:00:00 +0000</pubDate>", ""))
    place.run("subscribe", f"http://127.0.0.1:{port}/feed.xml")
    place.mount()
    pathlib.Path(place.path(files + 1)).read_bytes()
    place.wait_until_cached(files + 1)
    for number in range(1, files + 1):
        os.close(os.open(place.path(number), os.O_RDONLY))


def reap(readers):
    for reader in readers:
        os.waitpid(reader, 0)


def parked(place, size, rounds):
    """1,000 readers of a server that sends nothing: what they cost, and whether others can read."""
    files, per_file, length = 20, 50, 100_000_000
    stalled_show(place, files, length)
    process, daemon = place.mount_process, place.daemon
    before = threads_of(process), resident_memory(process), threads_of(daemon), resident_memory(daemon)
    begin = time.monotonic()
    readers = start_readers(place, files, per_file, length)
    print(f"{len(readers)} readers wait after {time.monotonic() - begin:.1f} s")
    print(f"mount process: {before[0]} threads and {before[1]:.1f} MB before, {threads_of(process)} and "
          f"{resident_memory(process):.1f} MB with them")
    print(f"daemon: {before[2]} threads and {before[3]:.1f} MB before, {threads_of(daemon)} and "
          f"{resident_memory(daemon):.1f} MB with them")
    times = []
    for _ in range(20):
        descriptor = os.open(place.path(files + 1), os.O_RDONLY | os.O_DIRECT)
        begin = time.monotonic()
        with mmap.mmap(-1, 1 << 20) as buffer:
            if os.readv(descriptor, [buffer]) != 1 << 20:
                raise SystemExit("a short read")
        times.append(time.monotonic() - begin)
        os.close(descriptor)
    still = place.waiting_requests
    print(f"1 MiB of a cached episode meanwhile, past the page cache: {statistics.median(times) * 1000:.1f} ms "
          f"({max(times) * 1000:.1f} at most); {still} requests still wait")
    begin = time.monotonic()
    place.run("unmount", str(place.mount_point))
    print(f"unmounted after {(time.monotonic() - begin) * 1000:.0f} ms")
    place.mounted = False
    reap(readers)


def unmount(place, size, rounds):
    """Unmounting while 100 readers wait."""
    files, per_file, length = 10, 10, 100_000_000
    stalled_show(place, files, length)
    times = []
    for _ in range(rounds):
        readers = start_readers(place, files, per_file, length)
        begin = time.monotonic()
        place.run("unmount", str(place.mount_point))
        times.append(time.monotonic() - begin)
        reap(readers)
        place.mount()
    print(f"unmount with {files * per_file} readers that wait: {statistics.median(times) * 1000:.0f} ms, "
          f"{max(times) * 1000:.0f} at most (budget 1000)")


# Changes

def change(place, size, rounds):
    """How long after a command's return a listed folder shows what it did."""
    place.make_file("x.mp3", size)
    port = place.start_nginx()
    count = 300
    target = place.www / "feed.xml"
    target.write_text(feed("Bench", count, port, "x.mp3", size))
    place.run("subscribe", f"http://127.0.0.1:{port}/feed.xml")
    place.mount()
    show = place.mount_point / "Bench"
    downloaded, latest = place.mount_point / "Downloaded", place.mount_point / "Latest"

    def look():
        for folder in [show, downloaded, latest]:
            for entry in os.scandir(folder):
                entry.stat()

    def until(condition, begin):
        wait_for(condition, "the change is seen")
        return time.monotonic() - begin

    seen = {}

    def measure(what, condition, begin):
        seen.setdefault(what, []).append(until(condition, begin))

    for number in range(1, rounds + 1):
        episode = next(path for path in show.iterdir() if path.name.endswith(f" Episode {number}.mp3"))
        look()
        place.run("download", "--wait", str(episode))
        begin = time.monotonic()
        measure("download: attribute", lambda: os.getxattr(episode, "user.podfs.state") == b"cached", begin)
        measure("download: st_blocks", lambda: os.stat(episode).st_blocks * 512 >= size, begin)
        measure("download: Downloaded/", lambda: any(episode.stem in name for name in os.listdir(downloaded)), begin)
        look()
        place.run("evict", str(episode))
        begin = time.monotonic()
        measure("evict: attribute", lambda: os.getxattr(episode, "user.podfs.state") == b"remote", begin)
        measure("evict: st_blocks", lambda: os.stat(episode).st_blocks == 1, begin)
        measure("evict: Downloaded/", lambda: not any(episode.stem in name for name in os.listdir(downloaded)), begin)
        look()
        count += 1
        target.write_text(feed("Bench", count, port, "x.mp3", size).replace(
            f"<pubDate>{count % 28 + 1} Jan 2026", f"<pubDate>{count % 28 + 1} Nov 2026"))
        place.run("refresh", "Bench")
        begin = time.monotonic()
        measure("refresh: name", lambda: any(name.endswith(f"Episode {count}.mp3") for name in os.listdir(show)), begin)
        measure("refresh: Latest/", lambda: any(f"Episode {count} " in name for name in os.listdir(latest)), begin)
    for what, times in seen.items():
        print(f"{what}: {statistics.median(times) * 1000:.1f} ms, {max(times) * 1000:.1f} at most (budget 100)")


COMMANDS = {
    "listing": (listing, 0), "start": (start, 0), "cached": (cached, 1024), "parked": (parked, 0), "unmount": (unmount, 0),
    "change": (change, 1),
}
