"""A description of the machine and of the versions of the measured programs."""
import os
import pathlib
import platform
import re
import subprocess
import time

# The commands that print the version of each program. `version` returns the first number in the output.
VERSIONS = {
    "curl": ["curl", "--version"], "nginx": ["nginx", "-v"], "rclone": ["rclone", "version"],
    "httpdirfs": ["httpdirfs", "--version"], "newsboat": ["newsboat", "--version"],
    "podget": ["dpkg-query", "-W", "-f", "${Version}", "podget"], "gpo": ["dpkg-query", "-W", "-f", "${Version}", "gpodder"],
    "xmllint": ["xmllint", "--version"],
}


def first_field(path, name):
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith(name):
            return line.split(":", 1)[1].strip()
    return "unknown"


def version(command):
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    # Some programs print to stderr. httpdirfs also prints the versions of its libraries.
    text = told.stdout + told.stderr
    found = re.search(r"HTTPDirFS version (\d[\w.]*)", text) or re.search(r"(?:[ /v]|^)(\d[\w.]*)", text)
    return found.group(1) if told.returncode == 0 and found else None


def describe(podfs):
    memory = int(first_field("/proc/meminfo", "MemTotal").split()[0]) * 1024 / 1e9
    versions = {name: version(command) for name, command in VERSIONS.items()}
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()), "cpu": first_field("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(), "memory_gb": round(memory, 1), "kernel": platform.release(),
        "system": first_field_of_release(), "load": os.getloadavg()[0],
        "versions": {"podfs": version([podfs, "--version"]), **{k: v for k, v in versions.items() if v}}}


def first_field_of_release():
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.system()


def sentence(machine):
    programs = ", ".join(f"{name} {number}" for name, number in machine["versions"].items() if number)
    return (f"{machine['date']}: {machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']:.0f} GB, "
            f"{machine['system']}, kernel {machine['kernel']}; {programs}")
