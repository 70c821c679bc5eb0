"""The rivals, the programs that podfs is compared with: installation, mount and unmount."""
import os
import shutil
import subprocess
import tempfile
import pathlib

from installation import wait_for

PACKAGES = [
    "rclone", "httpdirfs", "newsboat", "podget", "gpodder", "libxml2-utils", "python3-feedparser", "python3-podcastparser",
    "curl", "nginx-light", "fuse3",
]


def install():
    """Installs the rivals, and the other programs that the benchmarks need, with apt-get.

    If they cannot be installed together, each is tried alone. The cells of a missing rival stay blank.
    """
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends"]
    subprocess.run(["apt-get", "update", "-qq"], env=environment, stdout=subprocess.DEVNULL)
    if subprocess.run([*command, *PACKAGES], env=environment, stdout=subprocess.DEVNULL).returncode != 0:
        for package in PACKAGES:
            subprocess.run([*command, package], env=environment, stdout=subprocess.DEVNULL)


class RivalMount:
    """A rival's mount of a web server's folder, with its own cache. The end of the `with` block removes both."""

    name = ""

    def __init__(self, place, url):
        self.url = url
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=self.name + "-", dir=place.folder))
        self.mount_point = self.folder / "mnt"
        self.cache = self.folder / "cache"
        self.log = self.folder / "log"
        for path in [self.mount_point, self.cache]:
            path.mkdir()
        self.environment = {**place.environment, **place.rivals_environment, "HOME": str(self.folder),
                            "XDG_CACHE_HOME": str(self.cache)}
        self.prefix = place.prefix
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def pid(self):
        return self.process.pid

    def command(self):
        raise NotImplementedError

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*self.prefix, *self.command()], env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for(lambda: os.path.ismount(self.mount_point) or self.process.poll() is not None, f"{self.name} has mounted")
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.name} did not mount: {self.log.read_text()[-400:]}")

    def end(self):
        self.detach()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.detach()

    def detach(self):
        for command in [["umount"], ["umount", "-l"]]:
            done = subprocess.run([*command, str(self.mount_point)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if done.returncode == 0:
                return

    def path(self, name):
        return str(self.mount_point / name)


class Rclone(RivalMount):
    name = "rclone"

    def command(self):
        return ["rclone", "mount", ":http:", str(self.mount_point), "--http-url", self.url, "--config", "",
                "--vfs-cache-mode", "full", "--cache-dir", str(self.cache)]


class HTTPDirFS(RivalMount):
    name = "httpdirfs"

    def command(self):
        # httpdirfs's check for ranges requires a header that nginx omits from partial responses.
        return ["httpdirfs", "-f", "--no-range-check", "--cache", "--cache-location", str(self.cache), self.url,
                str(self.mount_point)]


def mounts():
    """Returns the classes of the rival filesystems that are installed."""
    return [rival for rival in [Rclone, HTTPDirFS] if shutil.which(rival.name)]
