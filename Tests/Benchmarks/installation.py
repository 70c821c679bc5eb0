"""A temporary installation of podfs with its web server and proxies, and the time and memory used by processes."""
import atexit
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("gave up waiting until " + what)
        time.sleep(0.002)


def ticks(pid):
    """Returns the processor time of a process and its reaped children, in seconds (proc(5), stat: fields 14 to 17)."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(value) for value in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def peak_memory(pid):
    """Returns the peak resident memory of a process, in MB (VmHWM)."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def reset_peak(pid):
    """Resets `peak_memory` to the current value (proc(5), clear_refs), to exclude the memory of startup."""
    pathlib.Path(f"/proc/{pid}/clear_refs").write_text("5")


def resident_memory(pid):
    """Returns the resident memory of a process, in MB (VmRSS)."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def proportional_memory(pid):
    """Returns the proportional memory of a process, in MB (proc(5), Pss).

    A page that n processes have mapped counts as 1/n, so that it counts once in the sum over these processes.
    """
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def peak_shared_once(pid):
    """Estimates the peak of `proportional_memory`, in MB.

    The kernel records no peak of Pss. The difference between peak and current resident memory is added to the current
    Pss. Shared pages in this difference count in full, so the estimate can be slightly too high.
    """
    return peak_memory(pid) - resident_memory(pid) + proportional_memory(pid)


def threads_of(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


class Installation:
    def __init__(self, podfs):
        self.podfs = podfs
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="podfs-bench-"))
        self.www = self.folder / "www"
        self.mount_point = self.folder / "mnt"
        self.children = []
        # Words before each command of podfs, such as those that enter a network namespace.
        self.prefix = []
        self.rivals_environment = {}
        self.mounted = False
        for path in [self.www, self.mount_point, self.folder / "run"]:
            path.mkdir()
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8"}
        for name in ["DATA_HOME", "CACHE_HOME", "CONFIG_HOME", "STATE_HOME"]:
            self.environment["XDG_" + name] = str(self.folder / name.lower())
        self.environment["XDG_RUNTIME_DIR"] = str(self.folder / "run")
        configuration = self.folder / "config_home" / "podfs"
        configuration.mkdir(parents=True)
        (configuration / "config.toml").write_text('[cache]\nlimit = "50 GiB"\n')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.mounted:
            self.run("unmount", "--force", str(self.mount_point), check=False)
        self.kill_daemon(signal.SIGTERM)
        for child in self.children:
            child.terminate()
            child.wait()
        # At the end of the program: ext4 passes over inodes that were freed in the last minutes, which takes longer than
        # to create a file.
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        # Else the kernel would write this row's pages while the next one is measured.
        os.sync()

    # Servers

    def start(self, command, ready=None):
        child = subprocess.Popen(command, stdout=subprocess.PIPE if ready else subprocess.DEVNULL)
        self.children.append(child)
        if ready and child.stdout.readline().strip() != ready:
            sys.exit(f"{command[0]} did not start")

    def start_nginx(self, rate=None, hosts=1):
        """Starts nginx with the folder `www` on 127.0.0.1 up to 127.0.0.`hosts`, and returns its port.

        `rate` is nginx's limit_rate, which limits each connection.
        """
        port = free_port()
        limit = f"limit_rate {rate};" if rate else ""
        listen = " ".join(f"listen 127.0.0.{host}:{port};" for host in range(1, hosts + 1))
        configuration = self.folder / f"nginx-{port}.conf"
        configuration.write_text(f"""
            daemon off; master_process off; pid {self.folder}/nginx-{port}.pid; error_log stderr error;
            events {{ worker_connections 1024; }}
            http {{
                include /etc/nginx/mime.types;
                sendfile on; autoindex on; keepalive_requests 1000000; {limit}
                log_format bytes '$uri $args $status $body_bytes_sent';
                access_log {self.folder}/access-{port}.log bytes;
                client_body_temp_path {self.folder}/body;
                server {{ {listen} root {self.www}; }}
            }}""")
        self.start(["nginx", "-c", str(configuration), "-g", "user root;"])
        wait_for(lambda: not self.refuses(port), "nginx listens")
        return port

    @staticmethod
    def refuses(port):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) != 0

    def bytes_sent(self, port, uri):
        """Returns the number of body bytes in all finished responses for the path `uri`."""
        return sum(int(line[-1]) for line in self.requests(port) if line[0] == uri)

    def requests(self, port):
        """Returns path, query, status and body bytes of each finished response, from nginx's log."""
        log = self.folder / f"access-{port}.log"
        return [line.split() for line in log.read_text().splitlines()] if log.exists() else []

    def start_proxy(self, server, rtt_ms):
        port = free_port()
        script = pathlib.Path(__file__).with_name("delay_proxy.py")
        self.start([sys.executable, str(script), str(port), str(server), str(rtt_ms)], ready=b"ready")
        return port

    def make_file(self, name, size):
        """Creates and syncs a file of `size` random bytes in `www`: zeros could give a program an advantage."""
        with open(self.www / name, "wb") as file:
            rest = size
            while rest > 0:
                piece = os.urandom(min(rest, 1 << 20))
                file.write(piece)
                rest -= len(piece)
            file.flush()
            os.fsync(file.fileno())

    def link(self, name, folder, count):
        """Links the file as 1.mp3 to `count`.mp3 in a new folder. No program has these names in its cache."""
        (self.www / folder).mkdir()
        for number in range(1, count + 1):
            os.link(self.www / name, self.www / folder / f"{number}.mp3")

    # podfs

    def run(self, *arguments, check=True):
        result = subprocess.run(
            [*self.prefix, self.podfs, *arguments], env=self.environment, capture_output=True, text=True)
        if check and result.returncode != 0:
            sys.exit(f"podfs {' '.join(arguments)}: {result.stderr}")
        return result

    def subscribe(self, feed_port, media_port, names, hosts=None):
        """Subscribes to a show whose episode n is the file `names[n - 1]` on 127.0.0.`hosts[n - 1]`.

        The query in each URL makes it unique, also if several episodes have the same file.
        """
        hosts = hosts or [1] * len(names)
        items = "".join(
            f"<item><title>Episode {n}</title><guid>{n}</guid><enclosure type='audio/mpeg'"
            f" length='{(self.www / name).stat().st_size}' url='http://127.0.0.{host}:{media_port}/{name}?n={n}'/></item>"
            for n, (name, host) in enumerate(zip(names, hosts), 1))
        (self.www / "feed.xml").write_text(
            f"<rss version='2.0'><channel><title>Bench</title>{items}</channel></rss>")
        self.run("subscribe", f"http://127.0.0.1:{feed_port}/feed.xml")

    def mount(self):
        self.run("mount", str(self.mount_point))
        self.mounted = True

    def path(self, number):
        return str(self.mount_point / "Bench" / f"Episode {number}.mp3")

    @property
    def daemon(self):
        """The PID of the daemon, or None if it does not run."""
        try:
            pid = int((self.folder / "run" / "podfs" / "daemon.pid").read_text())
            os.kill(pid, 0)
            return pid if pathlib.Path(f"/proc/{pid}/environ").read_bytes() else None
        except (OSError, ValueError):
            return None

    @property
    def mount_process(self):
        return int(os.getxattr(self.mount_point, "user.podfs.mount.pid"))

    @property
    def waiting_requests(self):
        """The number of FUSE requests without a reply, from fusectl, which is mounted if it is not."""
        control = pathlib.Path("/sys/fs/fuse/connections")
        if not any(control.iterdir()):
            subprocess.run(["mount", "-t", "fusectl", "none", str(control)], check=True)
        lines = [line.split() for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
        number = [fields[2].split(":")[1] for fields in lines if fields[4] == str(self.mount_point)][-1]
        return int((control / number / "waiting").read_text())

    def kill_daemon(self, number=signal.SIGKILL):
        pid = self.daemon
        if pid:
            os.kill(pid, number)
            wait_for(lambda: self.daemon is None, "the daemon ends")

    def new_daemon(self):
        """Replaces the daemon with a new one, which has no connections yet."""
        self.kill_daemon(signal.SIGTERM)
        self.run("daemon")

    def state(self, number):
        return os.getxattr(self.path(number), "user.podfs.state").decode()

    def wait_until_cached(self, number):
        wait_for(lambda: self.state(number) == "cached", f"episode {number} is cached", 600)
