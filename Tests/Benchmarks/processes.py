"""Benchmarks of the processes: start and listing with a large library, processor time and memory when idle."""
import contextlib
import os
import pathlib
import sqlite3
import subprocess
import time

from contest import timed
from feedtext import feed, outlines
from installation import peak_memory, proportional_memory, resident_memory
from mounting import drop_caches

SHOWS, EPISODES = 1_000, 300
# The time limit in seconds for a listing by a rival, which may send a request for each of 300,000 names.
PATIENCE = 90


def by_thread(pid):
    """Returns the processor time in seconds and the number of voluntary context switches of each thread of a process.

    The time is from schedstat (Documentation/scheduler/sched-stats), because the ticks of 10 ms in stat are too coarse
    for a process that mostly sleeps. The context switches are from status (proc(5)).
    """
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):  # The thread has ended.
            seconds = int((task / "schedstat").read_text().split()[0]) / 1e9
            status = (task / "status").read_text().splitlines()
            woken = sum(int(line.split()[1]) for line in status if line.startswith("voluntary_ctxt_switches:"))
            found[task.name] = (seconds, woken)
    return found


def since(before, after):
    """Returns the increase in processor time and in context switches between two results of `by_thread`.

    Threads that have exited are not counted. A thread that has started in between counts from zero.
    """
    return [sum(values[n] - before.get(name, (0, 0))[n] for name, values in after.items()) for n in [0, 1]]


def copy_rows(place):
    """Inserts all rows of the library into a new one, and returns the seconds that SQLite takes."""
    copy = place.folder / "copy.sqlite"
    with contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as database:
        # The rows that triggers would insert are copied as well, and another program lacks podfs's functions.
        database.execute("ATTACH ? AS old", [str(place.folder / "data_home" / "podfs" / "library.sqlite")])
        tables = "FROM old.sqlite_master WHERE name NOT LIKE 'sqlite_%' AND sql IS NOT NULL AND type"
        for (statement,) in list(database.execute(f"SELECT sql {tables} IN ('table', 'index') ORDER BY type DESC")):
            database.execute(statement)
        begin = time.monotonic()
        database.execute("BEGIN")
        for (name,) in list(database.execute(f"SELECT name {tables} = 'table'")):
            # table_info omits generated columns.
            columns = ", ".join(f'"{row[1]}"' for row in database.execute(f'PRAGMA table_info("{name}")'))
            database.execute(f'INSERT INTO main."{name}" ({columns}) SELECT {columns} FROM old."{name}"')
        database.execute("COMMIT")
        return time.monotonic() - begin


def start(contest):
    """Measures import, start, mount, complete listing and memory with a library of 1,000 shows of 300 episodes."""
    place, table = contest.place, contest.table
    port = place.start_nginx()
    for number in range(1, SHOWS + 1):
        (place.www / f"{number}.xml").write_text(feed(f"Show {number}", EPISODES, port, "x.mp3", 1_000_000))
    (place.folder / "list.opml").write_text(outlines(port, SHOWS))
    begin = time.monotonic()
    place.run("import", str(place.folder / "list.opml"))
    library = f"{SHOWS:,} × {EPISODES} episodes"
    imported = time.monotonic() - begin
    table.add(f"import of {library}", "s", {"podfs": [imported], "SQLite": [copy_rows(place)]}, against="SQLite", limit=5,
              note="SQLite only inserts the same rows, in one transaction")

    daemon = []
    for _ in range(contest.rounds):
        place.kill_daemon(15)
        begin = time.monotonic()
        place.run("daemon")
        daemon.append((time.monotonic() - begin) * 1000)
    table.add(f"daemon ready, {library}", "ms", {"podfs": daemon}, limit=200)

    disk = place.www / "disk"
    resident, peak, found = [], [], {}

    def mount_rival(rival):
        def run(_):
            begin = time.monotonic()
            with rival(place, f"http://127.0.0.1:{port}/disk/"):
                return (time.monotonic() - begin) * 1000
        return run

    place.mount()
    for show in place.mount_point.iterdir():
        if show.is_dir() and show.name not in ["Latest", "Downloaded"]:
            (disk / show.name).mkdir(parents=True)
            for name in os.listdir(show):
                if name == "index.html":
                    continue  # nginx would send this file in place of a listing.
                os.close(os.open(disk / show.name / name, os.O_CREAT | os.O_WRONLY))
    place.run("unmount", str(place.mount_point))
    place.mounted = False

    for kind in ["daemon runs", "daemon starts"]:
        def mount_ours(_, kind=kind):
            if kind == "daemon starts":
                place.kill_daemon(15)
            begin = time.monotonic()
            place.mount()
            elapsed = (time.monotonic() - begin) * 1000
            process = place.mount_process
            resident.append(resident_memory(process))
            drop_caches(2)
            found.setdefault("podfs", []).append(timed(["find", str(place.mount_point), "-ls"]))
            peak.append(peak_memory(process))
            place.run("unmount", str(place.mount_point))
            place.mounted = False
            drop_caches(2)
            found.setdefault("disk", []).append(timed(["find", str(disk), "-ls"]))
            return elapsed

        times = contest.turns({"podfs": mount_ours, **{r.name: mount_rival(r) for r in contest.mounts()}})
        table.add(f"mounted, {library}, {kind}", "ms", times, limit=200)
    for rival in contest.mounts():
        try:
            with rival(place, f"http://127.0.0.1:{port}/disk/") as mount:
                begin = time.monotonic()
                with contextlib.ExitStack() as stack:
                    child = subprocess.Popen(["find", str(mount.mount_point), "-ls"], stdout=subprocess.DEVNULL)
                    stack.callback(child.wait)
                    stack.callback(child.kill)
                    child.wait(PATIENCE)
                found[rival.name] = [time.monotonic() - begin]
        except subprocess.TimeoutExpired:
            print(f"{rival.name}: did not list {library} in {PATIENCE} s", flush=True)
    table.add(f"find -ls over {library}", "s", found, against="disk", budget=1.2)
    table.add(f"mount process ready, {library}", "MB", {"podfs": resident}, limit=60)
    table.add("mount process at most, after find over all", "MB", {"podfs": peak}, limit=60)


def idle(contest):
    """Measures processor time, wakeups and memory in an idle minute, with one show, after an episode has been read."""
    place, seconds = contest.place, 60
    place.make_file("some.mp3", contest.size)
    place.link("some.mp3", "rival", 1)
    port = place.start_nginx()
    place.subscribe(port, port, ["some.mp3"])
    place.mount()
    with contextlib.ExitStack() as stack:
        mounts = contest.rival_mounts(stack, f"http://127.0.0.1:{port}/rival/")
        for path in [place.path(1), *(mount.path("1.mp3") for mount in mounts.values())]:
            subprocess.run(["cat", path], check=True, stdout=subprocess.DEVNULL)
        place.wait_until_cached(1)
        time.sleep(5)  # The work after a transfer does not count as idling.
        pids = {"podfs": [place.daemon, place.mount_process], **{name: [mount.pid] for name, mount in mounts.items()}}
        before = {pid: by_thread(pid) for group in pids.values() for pid in group}
        time.sleep(seconds)
        spent = {name: [since(before[pid], by_thread(pid)) for pid in group] for name, group in pids.items()}
        cpu = {name: [sum(seconds for seconds, _ in group) * 1000] for name, group in spent.items()}
        woken = {name: [sum(times for _, times in group)] for name, group in spent.items()}
        memory = {name: [sum(map(resident_memory, group))] for name, group in pids.items()}
        once = {name: [sum(map(proportional_memory, group))] for name, group in pids.items()}
    note = "podfs is two processes"
    contest.table.add(f"{seconds} s of idling: CPU", "ms", cpu, limit=0, note=note)
    contest.table.add(f"{seconds} s of idling: times woken", "times", woken, note=note)
    contest.table.add("resident when idle", "MB", memory, note=note)
    contest.table.add("resident when idle, shared pages once", "MB", once, limit=28, note=note)
    contest.table.add("resident when idle, daemon alone", "MB", {"podfs": [resident_memory(place.daemon)]})


COMMANDS = {"start": (start, 0), "idle": (idle, 8)}
