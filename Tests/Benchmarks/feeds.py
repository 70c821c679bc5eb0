"""Benchmarks of feeds: parsing a large one, and importing and refreshing a thousand."""
import os
import pathlib
import shutil
import subprocess
import sys
import time

from contest import column, curl, measured
from feedtext import addresses, feed, outlines, rich_feed
from installation import ticks

FEEDS, ITEMS = 1_000, 20
# Many hosts, as for real subscriptions: podfs sends at most two requests at a time to one host.
HOSTS = 100
# The time limit in seconds for all feeds. A program that exceeds it is killed, and has no figure.
PATIENCE = 240

PARSERS = {
    "feedparser": "import feedparser, sys; assert feedparser.parse(open(sys.argv[1], 'rb').read()).entries",
    "podcastparser": "import podcastparser, sys; assert podcastparser.parse('x', open(sys.argv[1], 'rb'))['episodes']",
}


def python_with(module):
    """Returns a Python that can import `module`, or None: this one, or the system's, which has Debian's packages."""
    for program in [sys.executable, "/usr/bin/python3"]:
        found = subprocess.run([program, "-c", f"import {module}"], stderr=subprocess.DEVNULL)
        if found.returncode == 0:
            return program
    return None


def parse(contest):
    """Measures `podfs inspect` on a feed of 20,000 items.

    Beside it: xmllint, which only parses the XML, and as rivals two Python libraries that parse feeds.
    """
    place, count = contest.place, 20_000
    path = str(place.folder / "large.xml")
    with open(path, "w") as file:
        file.writelines(rich_feed(count, contest.size))
    size = os.path.getsize(path)
    contestants = {
        "podfs": lambda _: measured([place.podfs, "inspect", path]),
        "podfs --json": lambda _: measured([place.podfs, "inspect", path, "--json"]),
    }
    if shutil.which("xmllint"):
        contestants["xmllint"] = lambda _: measured(["xmllint", "--stream", "--noout", "--huge", path])
    for module in PARSERS if contest.with_rivals else []:
        program = python_with(module)
        if program:
            # These parsers take seconds, and differ by more than the noise: two rounds are enough.
            contestants[module] = lambda n, program=program, module=module: (
                measured([program, "-c", PARSERS[module], path]) if n <= 2 else None)
    results = contest.turns(contestants)
    what = f"feed of {count:,} items, {size / 1e6:.0f} MB"
    contest.table.add(what, "ms", column(results, 0, 1000), against="xmllint", budget=1.5,
                      note="whole programs; podfs prints a summary, or with --json all of it")
    contest.table.add(f"{what}: peak memory", "MB", column(results, 2), against="xmllint",
                      note="podfs holds ten items, or with --json the text of all, xmllint nothing")


# A thousand feeds

class Newsboat:
    name, program = "newsboat", "newsboat"

    def __init__(self, folder, port, feeds_folder, urls=None):
        self.folder = folder
        folder.mkdir()
        (folder / "urls").write_text("\n".join(urls or addresses(port, FEEDS, feeds_folder, HOSTS)) + "\n")
        (folder / "config").write_text("reload-threads 8\n")

    def run(self):
        return ["newsboat", "-q", "-u", f"{self.folder}/urls", "-c", f"{self.folder}/cache.db", "-C", f"{self.folder}/config",
                "-x", "reload"]

    fetch = refresh = run


class GPodder:
    name, program = "gpodder", "gpo"

    def __init__(self, folder, port, feeds_folder):
        self.list = folder / "list.opml"
        folder.mkdir()
        self.list.write_text(outlines(port, FEEDS, feeds_folder, HOSTS))

    def fetch(self):
        return ["gpo", "import", str(self.list)]

    def refresh(self):
        return ["gpo", "update"]


class Podget:
    """podget, which starts a wget for each feed.

    It also downloads the newest episode of each feed, a file of 2,000 bytes here.
    """

    name, program = "podget", "podget"

    def __init__(self, folder, port, feeds_folder):
        self.folder = folder
        folder.mkdir()
        (folder / "serverlist").write_text("".join(
            f"{url} folder{n} Show{n}\n" for n, url in enumerate(addresses(port, FEEDS, feeds_folder, HOSTS), 1)))
        subprocess.run(["podget", "-d", str(folder), "-s", "--create-config", "podgetrc"], stdout=subprocess.DEVNULL,
                       env={**os.environ, "HOME": str(folder)})

    def run(self):
        return ["podget", "-d", str(self.folder), "-l", f"{self.folder}/library", "-r", "1", "-s"]

    fetch = refresh = run


def make_feeds(place, folder, port):
    """Writes `FEEDS` feeds of `ITEMS` items to a new folder of the server, with modification times one hour ago."""
    (place.www / folder).mkdir()
    changed = time.time() - 3600
    for number in range(1, FEEDS + 1):
        path = place.www / folder / f"{number}.xml"
        path.write_text(feed(f"{folder.strip('/')} {number}", ITEMS, port, "x.mp3", 2000))
        os.utime(path, (changed, changed))


def curl_all(place, port, folder, conditional):
    """Fetches all feeds with one curl process, and returns its elapsed and processor time in seconds.

    curl reuses its connections. If `conditional`, the requests have If-Modified-Since, with the modification
    time of the first feed.
    """
    arguments = ["--parallel"]
    if conditional:
        moment = os.path.getmtime(place.www / folder / "1.xml")
        arguments += ["-H", time.strftime("If-Modified-Since: %a, %d %b %Y %H:%M:%S GMT", time.gmtime(moment))]
    target = place.folder / "fetched"
    target.mkdir(exist_ok=True)
    for number, url in enumerate(addresses(port, FEEDS, folder, HOSTS), 1):
        arguments += ["-o", str(target / f"{number}.xml"), url]
    return curl(arguments)[:2]


def timed_rival(program, command, environment):
    begin = time.monotonic()
    try:
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        print(f"{program}: not done after {PATIENCE} s", flush=True)
        return None
    return time.monotonic() - begin


def refresh(contest):
    """Measures the import of 1,000 feeds, and their refresh when none has changed."""
    place, table = contest.place, contest.table
    place.make_file("x.mp3", 2000)
    port = place.start_nginx(hosts=HOSTS)
    make_feeds(place, "all/", port)
    (place.folder / "list.opml").write_text(outlines(port, FEEDS, "all/", HOSTS))
    first = {"podfs": [], "curl": []}

    first["curl"].append(curl_all(place, port, "all/", False)[0])
    begin = time.monotonic()
    place.run("import", str(place.folder / "list.opml"))
    first["podfs"].append(time.monotonic() - begin)
    cpu = []

    def run_podfs(_):
        before = place.requests(port)
        used = ticks(place.daemon)
        begin = time.monotonic()
        place.run("refresh")
        elapsed = time.monotonic() - begin
        cpu.append(ticks(place.daemon) - used)
        answers = place.requests(port)[len(before):]
        unchanged = sum(1 for line in answers if line[-2] == "304")
        if unchanged != FEEDS:
            raise RuntimeError(f"{unchanged} answers of 304, not {FEEDS}")
        return elapsed

    asked = contest.turns({"podfs": run_podfs, "curl": lambda _: curl_all(place, port, "all/", True)})
    again = {"podfs": asked["podfs"], "curl": [value[0] for value in asked["curl"]]}
    for kind in [Newsboat, GPodder, Podget] if contest.with_rivals else []:
        if not shutil.which(kind.program):
            continue
        folder = pathlib.Path(place.folder / kind.name)
        rival = kind(folder, port, "all/")
        environment = {**place.environment, "HOME": str(folder), "GPODDER_HOME": str(folder / "gpodder")}
        for command, results in [(rival.fetch(), first), (rival.refresh(), again)]:
            elapsed = timed_rival(kind.name, command, environment)
            if elapsed is None:
                break
            results[kind.name] = [elapsed]
    # The other rounds import equal feeds at other addresses: the first list is subscribed already.
    for number in range(2, contest.rounds + 1):
        make_feeds(place, f"list{number}/", port)
        (place.folder / "list.opml").write_text(outlines(port, FEEDS, f"list{number}/", HOSTS))
        first["curl"].append(curl_all(place, port, f"list{number}/", False)[0])
        begin = time.monotonic()
        place.run("import", str(place.folder / "list.opml"))
        first["podfs"].append(time.monotonic() - begin)
    what = f"{FEEDS:,} feeds of {ITEMS} items, {HOSTS} hosts"
    table.add(f"{what}, imported", "s", first, against="curl", budget=2.5,
              note="curl only fetches; podget also one episode of each")
    table.add(f"{what}, refreshed, all 304", "s", again, against="curl", budget=1.3)
    table.add(f"{what}, refreshed: CPU", "s", {"podfs": cpu, "curl": [value[1] for value in asked["curl"]]}, against="curl")


COMMANDS = {"parse": (parse, 50), "refresh": (refresh, 0)}
