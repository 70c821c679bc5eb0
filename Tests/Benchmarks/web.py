"""https servers behind line.py: nginx with TLS, a generated certificate authority, and chains of redirects."""
import os
import pathlib
import subprocess
import sys

from installation import wait_for

# A chain of five redirects has six hosts; the feeds of a refresh have a hundred.
HOSTS = 100


class Web:
    """The line, and nginx in its server namespace.

    Within the `with` block, `place.prefix` runs podfs and the rivals in the client namespace. podfs, curl and the
    rivals are configured to trust the generated certificate authority besides the system's.
    """

    def __init__(self, place):
        self.place = place
        self.folder = place.folder / "web"
        self.folder.mkdir()
        number = os.getpid()
        self.client, self.server = f"podfs-c{number}", f"podfs-s{number}"
        self.line = subprocess.Popen(
            [sys.executable, str(pathlib.Path(__file__).with_name("line.py")), self.client, self.server, str(HOSTS)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.nginx = None

    def __enter__(self):
        if self.line.stdout.readline().strip() != "ready":
            raise RuntimeError("no namespaces or TUN devices can be made here")
        self.make_certificates()
        # The sender's congestion control decides the effect of a loss. BBR, the default of some hosts, would hide it.
        self.inside(self.server, ["sysctl", "-q", "-w", "net.ipv4.tcp_congestion_control=cubic"], check=False)
        self.start_nginx()
        place = self.place
        place.prefix = ["nsenter", f"--net=/run/netns/{self.client}"]
        place.rivals_environment = self.environment
        configuration = place.folder / "config_home" / "podfs" / "config.toml"
        configuration.write_text(
            f'[cache]\nlimit = "50 GiB"\n[transfers]\nca_file = "{self.folder}/ca.pem"\n')
        return self

    def __exit__(self, *_):
        if self.nginx:
            self.nginx.terminate()
            self.nginx.wait()
        self.line.stdin.close()
        self.line.wait()
        self.place.prefix, self.place.rivals_environment = [], {}

    def inside(self, namespace, command, check=True):
        return subprocess.run(["nsenter", f"--net=/run/netns/{namespace}", *command], check=check,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def set(self, rtt_ms=0, loss=0, rate_mbit=0):
        self.line.stdin.write(f"set {rtt_ms} {loss} {rate_mbit}\n")
        self.line.stdin.flush()

    def make_certificates(self):
        def openssl(*arguments):
            subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)

        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        openssl("req", "-x509", *key, "-days", "3", "-subj", "/CN=Benchmark", "-keyout", "ca.key", "-out", "ca.pem")
        openssl("req", *key, "-subj", "/CN=server", "-keyout", "key.pem", "-out", "request.pem")
        names = ",".join(f"IP:10.78.0.{host}" for host in range(1, HOSTS + 1))
        (self.folder / "names").write_text(f"subjectAltName={names}")
        openssl("x509", "-req", "-in", "request.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "3",
                "-extfile", "names", "-out", "cert.pem")
        # For the other programs: the system's bundle together with the benchmark's authority, as podfs has them.
        system = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
        (self.folder / "all.pem").write_bytes(
            (system.read_bytes() if system.exists() else b"") + (self.folder / "ca.pem").read_bytes())

    @property
    def environment(self):
        bundle = str(self.folder / "all.pem")
        return {"SSL_CERT_FILE": bundle, "CURL_CA_BUNDLE": bundle}

    def start_nginx(self, keepalive="75s"):
        """Starts nginx, or restarts it with another `keepalive` timeout, and waits until it responds.

        Host n (1 to 9) redirects /hop/K/… (K from 1 to 5) to /hop/K-1/… on host n + 1, or for K = 1 to the file itself.
        All hosts serve all other paths.
        """
        if self.nginx:
            self.nginx.terminate()
            self.nginx.wait()
        servers = ""
        for host in range(1, HOSTS + 1):
            hops = "".join(
                f"location /hop/{k}/ {{ rewrite ^/hop/{k}/(.*)$ "
                f"https://10.78.0.{host + 1}{f'/hop/{k - 1}' if k > 1 else ''}/$1 redirect; }}\n"
                for k in range(1, 6)) if host < 10 else ""
            servers += f"server {{ listen 10.78.0.{host}:443 ssl; root {self.place.www}; {hops} }}\n"
        configuration = self.folder / "nginx.conf"
        configuration.write_text(f"""
            daemon off; master_process off; pid {self.folder}/nginx.pid; error_log stderr crit;
            events {{ worker_connections 4096; }}
            http {{
                include /etc/nginx/mime.types;
                sendfile on; autoindex on; keepalive_timeout {keepalive}; keepalive_requests 1000000;
                ssl_certificate {self.folder}/cert.pem; ssl_certificate_key {self.folder}/key.pem;
                ssl_protocols TLSv1.2 TLSv1.3; ssl_session_cache shared:all:2m;
                access_log {self.folder}/access.log;
                client_body_temp_path {self.folder}/body;
                {servers}
            }}""")
        self.nginx = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{self.server}", "nginx", "-c", str(configuration), "-g", "user root;"])
        self.set()
        wait_for(lambda: self.inside(self.client, ["curl", "-sk", "https://10.78.0.1/"], check=False).returncode == 0,
                 "nginx answers")

    def url(self, name, hops=0, host=1):
        return f"https://10.78.0.{host}{f'/hop/{hops}' if hops else ''}/{name}"

    def curl(self, arguments, time="time_total"):
        """Runs curl in the client namespace; returns its write-out variable `time` for each request, in seconds."""
        command = ["nsenter", f"--net=/run/netns/{self.client}", "curl", "-sSL", "--fail", "--noproxy", "*", "-w",
                   f"%{{{time}}}\n", *arguments]
        done = subprocess.run(command, env={**os.environ, **self.environment}, capture_output=True, text=True, check=True)
        return [float(line) for line in done.stdout.split()]

    def subscribe(self, urls, size):
        """Subscribes to a show whose episode n has the URL `urls[n - 1]`."""
        items = "".join(
            f"<item><title>Episode {n}</title><guid>{n}</guid><enclosure type='audio/mpeg' length='{size}' url='{url}'/></item>"
            for n, url in enumerate(urls, 1))
        (self.place.www / "feed.xml").write_text(
            f"<rss version='2.0'><channel><title>Bench</title>{items}</channel></rss>")
        self.place.run("subscribe", self.url("feed.xml", host=50))
