"""Benchmarks of long queues: many small downloads, and what other readers notice of thousands of queued downloads."""
import http.server
import os
import socketserver
import threading
import time

from contest import curl, timed_read
from feedtext import feed
from installation import ticks

SMALL, MANY, SLOW, HEAP = 20_000, 3_000, 30_000, 5_000


def show(place, title, count, port, name, length):
    """Writes the feed of a show of `count` episodes, whose addresses are those of one file on `port`."""
    (place.www / f"{title}.xml").write_text(feed(title, count, port, name, length))


class SlowServer(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """A server that sends `length` bytes to each request, `SLOW` bytes a second."""

    daemon_threads, request_queue_size = True, 128

    def __init__(self, length):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "audio/mpeg")
                self.send_header("Content-Length", str(length))
                self.end_headers()
                pieces = 10
                try:
                    for _ in range(length // (SLOW // pieces)):
                        self.wfile.write(b"\xff" * (SLOW // pieces))
                        time.sleep(1 / pieces)
                except OSError:
                    pass  # The client has cancelled the download.

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


def many(contest):
    """Measures the download of 3,000 small episodes, beside curl with as many connections to the host."""
    place = contest.place
    place.make_file("small.mp3", SMALL)
    port = place.start_nginx()
    # A show for each round: after an eviction ext4 would search for inodes that were not freed in the last minutes.
    shows = [f"Many{number}" for number in range(1, contest.rounds + 1)]
    for title in shows:
        show(place, title, MANY, port, "small.mp3", SMALL)
        place.run("subscribe", f"http://127.0.0.1:{port}/{title}.xml")
    place.mount()
    target = place.folder / "fetched"
    target.mkdir()
    addresses = place.folder / "addresses"
    addresses.write_text("".join(
        f'url = "http://127.0.0.1:{port}/small.mp3?n={n}"\noutput = "{target}/{n}"\n' for n in range(1, MANY + 1)))

    def ours(number):
        begin = time.monotonic()
        place.run("download", "--wait", shows[number - 1])
        return time.monotonic() - begin

    times = contest.turns({
        "podfs": ours,
        "curl": lambda _: curl(["--parallel", "--parallel-max", "2", "--config", str(addresses)])[0]})
    contest.table.add(f"{MANY:,} episodes of {SMALL // 1000} kB, loopback, downloaded", "s", times, against="curl",
                      budget=3.0, note="curl with as many connections, which syncs and hashes nothing")


def queue(contest):
    """Measures what 3,000 queued downloads of a slow server cost a reader of another show, and the processor.

    Beside them: a queue of ten.
    """
    place, reads, seconds = contest.place, 20, 10
    place.make_file("x.mp3", 100_000)
    port = place.start_nginx()
    slow = SlowServer(3_000_000)
    queues = {"a queue of ten": 10, "podfs": MANY}
    show(place, "Other", reads * contest.rounds * len(queues), port, "x.mp3", 100_000)
    show(place, "Slow", MANY, slow.server_port, "x.mp3", 3_000_000)
    for title in ["Other", "Slow"]:
        place.run("subscribe", f"http://127.0.0.1:{port}/{title}.xml")
    place.mount()
    others = iter(sorted((place.mount_point / "Other").glob("*.mp3")))
    first, used = {}, {}
    for _ in range(contest.rounds):
        for name, length in queues.items():
            place.run("download", "Slow", "--latest", str(length))
            time.sleep(2)
            before = ticks(place.daemon)
            time.sleep(seconds)
            used.setdefault(name, []).append((ticks(place.daemon) - before) / seconds * 100)
            for _ in range(reads):
                first.setdefault(name, []).append(timed_read(next(others), 0, 4096)[1] * 1000)
                time.sleep(0.05)
            place.run("cancel", "Slow")
    slow.shutdown()
    what = f"{MANY:,} queued downloads of a slow server"
    contest.table.add(f"{what}: first 4 KiB of another show", "ms", first, against="a queue of ten", budget=1.1)
    contest.table.add(f"{what}: CPU of the daemon", "%", used, against="a queue of ten", budget=1.2)


def player(contest):
    """Measures the longest wait of a player while 5,000 episodes are downloaded, and while half of them are evicted."""
    place, size = contest.place, 20_000_000
    place.make_file("small.mp3", SMALL)
    place.make_file("long.mp3", size)
    port = place.start_nginx()
    show(place, "Heap", HEAP, port, "small.mp3", SMALL)
    show(place, "Player", 3 * contest.rounds, port, "long.mp3", size)
    for title in ["Heap", "Player"]:
        place.run("subscribe", f"http://127.0.0.1:{port}/{title}.xml")
    place.mount()
    episodes = iter(sorted((place.mount_point / "Player").glob("*.mp3")))
    waits = {"podfs": [], "alone": []}
    evicted = {"podfs": [], "alone": waits["alone"]}
    configuration = place.folder / "config_home" / "podfs" / "config.toml"

    def play():
        """Reads an episode for eight seconds as a player does, and returns the longest wait in milliseconds."""
        longest, descriptor = 0.0, os.open(next(episodes), os.O_RDONLY)
        for number in range(160):
            begin = time.monotonic()
            os.pread(descriptor, 65536, number * 65536)
            longest = max(longest, time.monotonic() - begin)
            time.sleep(0.05)
        os.close(descriptor)
        return longest * 1000

    def restart(limit):
        place.kill_daemon(15)
        configuration.write_text(f'[cache]\nlimit = "{limit}"\n')
        place.run("daemon")

    for _ in range(contest.rounds):
        waits["alone"].append(play())
        place.run("download", "Heap")
        waits["podfs"].append(play())
        place.run("download", "--wait", "Heap")
        restart(f"{HEAP * SMALL // 2}")
        evicted["podfs"].append(play())
        restart("50 GiB")
        place.run("evict", "Heap")
    contest.table.add(f"a player's longest wait, {HEAP:,} downloads at the same time", "ms", waits, against="alone")
    contest.table.add(f"a player's longest wait, half of {HEAP:,} cached files evicted", "ms", evicted, against="alone")


COMMANDS = {"many": (many, 0), "queue": (queue, 0), "player": (player, 0)}
