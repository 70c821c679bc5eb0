"""Benchmarks under realistic network conditions: https, redirects, packet loss and limited rates, over line.py."""
import os
import shutil
import subprocess
import threading
import time

from contest import timed_read
from feeds import Newsboat, timed_rival
from latency import in_milliseconds, leave
from web import Web


def head(url):
    return ["-r", "0-4095", "-o", "/dev/null", url]


def first_bytes(contest, web, rtt, hops, loss=0, rounds=None):
    """Measures the first 4 KiB of one episode with a new daemon, and then those of the show's next episode.

    curl's time is that of its first byte. curl requests the whole file, as podfs does. The server's first TLS record
    then has up to 16 KiB, more than TCP's initial window of ten segments, and is complete one round trip later than the
    response to a request for 4 KiB. That request is measured as `curl, 4 KiB alone`. podfs's reads bypass the page
    cache, through which they would need 16 KiB of the file, and so the second TLS record too.
    """
    place, rounds = contest.place, rounds or contest.rounds
    names = [f"e{hops}-{rtt}-{int(loss * 100)}-{n}.mp3" for n in range(2 * rounds)]
    for name in names:
        (place.www / name).hardlink_to(place.www / "long.mp3")
    web.set()
    web.subscribe([web.url(name, hops) for name in names], contest.size)
    if not place.mounted:
        place.mount()
    asked = {"curl": lambda url: ["-o", "/dev/null", url], "curl, 4 KiB alone": head}
    cold, warm = {who: [] for who in ["podfs", *asked]}, {who: [] for who in ["podfs", *asked]}
    for turn in range(rounds):
        web.set()
        place.new_daemon()
        order = ["podfs", *asked] if turn % 2 else [*asked, "podfs"]
        for who in order:
            web.set(rtt, loss)
            if who != "podfs":
                first, second = web.curl([word for name in names[2 * turn:2 * turn + 2]
                                          for word in asked[who](web.url(name, hops))], "time_starttransfer")
                cold[who].append(first)
                warm[who].append(second)
                continue
            cold["podfs"].append(timed_read(place.path(2 * turn + 1), 0, 4096, direct=True)[1])
            place.wait_until_cached(2 * turn + 1)
            warm["podfs"].append(timed_read(place.path(2 * turn + 2), 0, 4096, direct=True)[1])
            leave(place, 2 * turn + 2)
    web.set()
    place.run("unsubscribe", "Bench")
    lossy = f", {loss:.0%} loss" if loss else ""
    what = f"https, RTT {rtt} ms{lossy}, {hops} redirect{'s' if hops > 1 else ''}"
    contest.table.add(f"{what}: first 4 KiB, nothing known", "ms", in_milliseconds(cold), against="curl", budget=1.02)
    contest.table.add(f"{what}: first 4 KiB of the next episode", "ms", in_milliseconds(warm), against="curl",
                      limit=(hops + 1) * rtt + 2 if not loss else None)


def chains(contest):
    """Measures first bytes through 1, 3 and 5 redirects, each to another host, at an RTT of 20, 50 and 200 ms."""
    contest.place.make_file("long.mp3", contest.size)
    with Web(contest.place) as web:
        try:
            for rtt in [20, 50, 200]:
                for hops in [1, 3, 5]:
                    first_bytes(contest, web, rtt, hops)
        finally:
            end(contest.place)


def loss(contest):
    """Measures first bytes through 3 redirects at 1 % and 3 % packet loss, RTT 50 ms."""
    contest.place.make_file("long.mp3", contest.size)
    with Web(contest.place) as web:
        try:
            for share in [0.01, 0.03]:
                first_bytes(contest, web, 50, 3, share, rounds=4 * contest.rounds)
        finally:
            end(contest.place)


def pause(contest):
    """Measures first bytes after a pause, when the server has closed its connections.

    The same daemon still runs, with the TLS sessions of the closed connections, as after a pause of an hour.
    """
    place = contest.place
    place.make_file("long.mp3", contest.size)
    with Web(place) as web:
        try:
            web.start_nginx(keepalive="1s")
            names = [f"p{n}.mp3" for n in range(contest.rounds + 1)]
            for name in names:
                (place.www / name).hardlink_to(place.www / "long.mp3")
            web.subscribe([web.url(name, 3) for name in names], contest.size)
            place.mount()
            timed_read(place.path(1), 0, 4096)
            place.wait_until_cached(1)
            times = {"podfs": [], "curl": []}
            for turn in range(1, contest.rounds + 1):
                time.sleep(2.5)
                web.set(50)
                times["podfs"].append(timed_read(place.path(turn + 1), 0, 4096, direct=True)[1])
                times["curl"] += web.curl(["-o", "/dev/null", web.url(names[turn], 3)], "time_starttransfer")
                web.set()
                place.wait_until_cached(turn + 1)
            contest.table.add("https, RTT 50 ms, 3 redirects: first 4 KiB after a pause, connections closed", "ms",
                              in_milliseconds(times), against="curl", budget=1.02)
        finally:
            end(place)


def readers(contest):
    """Measures 100 simultaneous first reads from one https host, RTT 50 ms."""
    place = contest.place
    place.make_file("long.mp3", contest.size)
    with Web(place) as web:
        try:
            place.link("long.mp3", "many", 100 * contest.rounds)
            web.subscribe([web.url(f"many/{n}.mp3") for n in range(1, 100 * contest.rounds + 1)], contest.size)
            place.mount()

            def read_all(path_of, numbers):
                threads = [threading.Thread(target=timed_read, args=(path_of(n), 0, 4096)) for n in numbers]
                begin = time.monotonic()
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                return time.monotonic() - begin

            def numbers_of(turn):
                return range(100 * turn - 99, 100 * turn + 1)

            def run_podfs(turn):
                web.set()
                place.new_daemon()
                web.set(50)
                seconds = read_all(place.path, numbers_of(turn))
                for number in numbers_of(turn):
                    leave(place, number)
                return seconds

            def run_curl(turn):
                web.set(50)
                begin = time.monotonic()
                parallel = [word for n in numbers_of(turn) for word in head(web.url(f"many/{n}.mp3"))]
                web.curl(["--parallel", "--parallel-max", "100", "--http1.1", *parallel])
                return time.monotonic() - begin

            def run_rival(rival):
                def run(turn):
                    web.set()
                    with rival(place, web.url("many/")) as mount:
                        os.listdir(mount.mount_point)
                        web.set(50)
                        seconds = read_all(lambda n: mount.path(f"{n}.mp3"), numbers_of(turn))
                        web.set()
                        return seconds
                return run

            times = contest.turns(
                {"podfs": run_podfs, "curl": run_curl, **{rival.name: run_rival(rival) for rival in contest.mounts()}})
            contest.table.add("https, RTT 50 ms: 100 first reads of one host at once, the last", "ms",
                              in_milliseconds(times), against="curl", limit=600,
                              note="curl opens 100 connections, podfs 6")
        finally:
            end(place)


def rate(contest):
    """Measures reads of a whole file, and of the end of a file directly after its open, at 20 Mbit/s, RTT 50 ms."""
    place = contest.place
    place.make_file("long.mp3", contest.size)
    with Web(place) as web:
        try:
            names = [f"r{n}.mp3" for n in range(2 * contest.rounds)]
            for name in names:
                (place.www / name).hardlink_to(place.www / "long.mp3")
            web.subscribe([web.url(name, 3) for name in names], contest.size)
            place.mount()
            whole, tail = {"podfs": [], "curl": []}, {"podfs": [], "curl": []}
            for turn in range(contest.rounds):
                place.new_daemon()
                web.set(50, 0, 20)
                begin = time.monotonic()
                subprocess.run(["cat", place.path(2 * turn + 1)], stdout=subprocess.DEVNULL, check=True)
                whole["podfs"].append(time.monotonic() - begin)
                begin = time.monotonic()
                web.curl(["-o", "/dev/null", web.url(names[2 * turn], 3)])
                whole["curl"].append(time.monotonic() - begin)
                opened, both = timed_read(place.path(2 * turn + 2), contest.size - 4096, 4096)
                tail["podfs"].append(both - opened)
                leave(place, 2 * turn + 2)
                tail["curl"] += web.curl(["-r", f"{contest.size - 4096}-", "-o", "/dev/null", web.url(names[turn])])
                web.set()
            size = f"{contest.size / 1e6:.0f} MB"
            contest.table.add(f"https, RTT 50 ms, 3 redirects, 20 Mbit/s: {size} read", "s", whole, against="curl",
                              budget=1.05)
            contest.table.add(f"https, RTT 50 ms, 20 Mbit/s: 4 KiB at the end of {size} right after the open", "ms",
                              in_milliseconds(tail), against="curl", budget=1.05,
                              note="curl asks the last host directly, on a new connection")
        finally:
            end(place)


def refresh(contest):
    """Measures a refresh of 1,000 unchanged https feeds from 100 hosts, RTT 50 ms."""
    place = contest.place
    (place.www / "feeds").mkdir()
    for number in range(1000):
        items = "".join(f"<item><title>{n}</title><guid>{number}-{n}</guid><enclosure type='audio/mpeg' length='1' "
                        f"url='http://media.example/{number}/{n}.mp3'/></item>" for n in range(20))
        (place.www / "feeds" / f"{number}.xml").write_text(
            f"<rss version='2.0'><channel><title>Show {number}</title>{items}</channel></rss>")
    with Web(place) as web:
        try:
            urls = [web.url(f"feeds/{n}.xml", host=n % 100 + 1) for n in range(1000)]
            outlines = "".join(f"<outline type='rss' text='Show {n}' xmlUrl='{url}'/>" for n, url in enumerate(urls))
            (place.folder / "list.opml").write_text(f"<opml version='2.0'><body>{outlines}</body></opml>")
            place.run("import", str(place.folder / "list.opml"))
            since = time.strftime("If-Modified-Since: %a, %d %b %Y %H:%M:%S GMT", time.gmtime())
            times = {"podfs": [], "curl": []}
            for _ in range(contest.rounds):
                place.new_daemon()
                web.set(50)
                begin = time.monotonic()
                place.run("refresh")
                times["podfs"].append(time.monotonic() - begin)
                begin = time.monotonic()
                arguments = [word for url in urls for word in ["-o", "/dev/null", url]]
                web.curl(["--parallel", "--parallel-max", "100", "--http1.1", "-H", since, *arguments])
                times["curl"].append(time.monotonic() - begin)
                web.set()
            if contest.with_rivals and shutil.which("newsboat"):
                rival = Newsboat(place.folder / "newsboat", None, None, urls)
                environment = {**place.environment, **web.environment, "HOME": str(rival.folder)}
                timed_rival(rival.name, [*place.prefix, *rival.fetch()], environment)
                web.set(50)
                if seconds := timed_rival(rival.name, [*place.prefix, *rival.refresh()], environment):
                    times[rival.name] = [seconds]
                web.set()
            contest.table.add("https, RTT 50 ms: 1,000 feeds of 100 hosts refreshed, all 304", "s", times, against="curl",
                              budget=1.2)
        finally:
            end(place)


def end(place):
    """Unmounts podfs and kills the daemon: they run in the client's namespace, and must exit before its removal."""
    if place.mounted:
        place.run("unmount", "--force", str(place.mount_point), check=False)
        place.mounted = False
    place.kill_daemon()


# The file is small where a download must be complete before the next turn.
COMMANDS = {
    "network-chains": (chains, 0.25), "network-loss": (loss, 0.25), "network-pause": (pause, 0.25),
    "network-readers": (readers, 0.25), "network-rate": (rate, 10), "network-refresh": (refresh, 0),
}
