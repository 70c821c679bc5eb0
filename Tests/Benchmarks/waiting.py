"""Benchmarks of readers that wait for a stalled server, and of the delay until a change is visible in the mount."""
import mmap
import os
import pathlib
import socket
import threading
import time

from feedtext import FEED_HEAD, FEED_ITEM, feed
from installation import resident_memory, threads_of, wait_for


# Readers that wait

class StalledServer:
    """A server that sends the head of a response, never its body, and keeps the connection open."""

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
    """Starts processes that each open a file and read 4 KiB; returns their PIDs when all of them wait in the kernel."""
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
    """Subscribes to a show with `files` episodes on a `StalledServer` and a last one that is cached, and mounts podfs.

    The limits for stalls and for waiting readers are set to one hour, so that the readers keep waiting.
    """
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


def parked(contest):
    """Measures threads and memory with 1,000 readers of a stalled server, and meanwhile reads of a cached episode."""
    place, files, per_file, length = contest.place, 20, 50, 100_000_000
    stalled_show(place, files, length)
    process, daemon = place.mount_process, place.daemon
    before = threads_of(process), resident_memory(process), threads_of(daemon), resident_memory(daemon)
    begin = time.monotonic()
    readers = start_readers(place, files, per_file, length)
    table = contest.table
    table.add(f"{len(readers)} readers of a stalled server: until all wait", "s", {"podfs": [time.monotonic() - begin]})
    for what, pid, (threads, resident) in [("mount", process, before[:2]), ("daemon", daemon, before[2:])]:
        table.add(f"{len(readers)} readers of a stalled server: threads of the {what}", "threads",
                  {"podfs": [threads_of(pid)], "before": [threads]}, against="before")
        table.add(f"{len(readers)} readers of a stalled server: memory of the {what}", "MB",
                  {"podfs": [resident_memory(pid)], "before": [resident]}, against="before")
    times = []
    for _ in range(20):
        descriptor = os.open(place.path(files + 1), os.O_RDONLY | os.O_DIRECT)
        begin = time.monotonic()
        with mmap.mmap(-1, 1 << 20) as buffer:
            if os.readv(descriptor, [buffer]) != 1 << 20:
                raise SystemExit("a short read")
        times.append(time.monotonic() - begin)
        os.close(descriptor)
    if place.waiting_requests < len(readers):
        raise RuntimeError("a reader got an answer")
    table.add("1 MiB of a cached episode meanwhile, past the page cache", "ms", {"podfs": [value * 1000 for value in times]})
    begin = time.monotonic()
    place.run("unmount", str(place.mount_point))
    table.add(f"unmount with {len(readers)} readers that wait", "ms", {"podfs": [(time.monotonic() - begin) * 1000]},
              limit=1000)
    place.mounted = False
    reap(readers)


def unmount(contest):
    """Measures an unmount while 100 readers wait."""
    place, files, per_file, length = contest.place, 10, 10, 100_000_000
    stalled_show(place, files, length)
    times = []
    for _ in range(contest.rounds):
        readers = start_readers(place, files, per_file, length)
        begin = time.monotonic()
        place.run("unmount", str(place.mount_point))
        times.append((time.monotonic() - begin) * 1000)
        reap(readers)
        place.mount()
    contest.table.add(f"unmount with {files * per_file} readers that wait", "ms", {"podfs": times}, limit=1000)


# Changes

def change(contest):
    """Measures the time from a command's return until its effect is visible in folders that have been listed."""
    place, size, rounds = contest.place, contest.size, contest.rounds
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
        contest.table.add(f"seen after {what}", "ms", {"podfs": [value * 1000 for value in times]}, limit=100)


COMMANDS = {"parked": (parked, 0), "unmount": (unmount, 0), "change": (change, 1)}
