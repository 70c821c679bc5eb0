import Foundation
import Glibc
import TestSupport

/// A running nginx that serves a folder. It uses the media types of the distribution's `mime.types`. A file with an
/// unknown extension is text, nginx's default.
final class Nginx: Sendable {
    private let reserved: ReservedPort
    private let child: ChildProcess
    private let folder: TemporaryDirectory

    /// - Parameters:
    ///   - folder: The folder for nginx's own files.
    ///   - root: The served folder; `www` in `folder` by default.
    ///   - tls: The directives of a server with TLS; `nil` for one without.
    init(in folder: TemporaryDirectory, root: String? = nil, tls: String? = nil) async throws {
        self.folder = folder
        reserved = try ReservedPort()
        let port = reserved.number
        let configuration = try folder.write(
            "nginx.conf",
            text: """
                daemon off;
                master_process off;
                pid \(folder.path)/nginx.pid;
                error_log stderr;
                events { worker_connections 256; }
                http {
                    include /etc/nginx/mime.types;
                    access_log off;
                    client_body_temp_path \(folder.path)/body;
                    server {
                        listen 127.0.0.1:\(port) \(tls == nil ? "" : "ssl");
                        \(tls ?? "")
                        root \(root ?? folder.path + "/www");
                    }
                }
                """)
        child = try ChildProcess("nginx", ["-c", configuration, "-g", "user root;"])
        let child = child
        try await waitUntil(deadline: .seconds(60), description: "nginx answers: \(child.error)") {
            let url = "\(tls == nil ? "http" : "https")://127.0.0.1:\(port)/"
            return try await ChildProcess.run("curl", ["-s", "-k", "--noproxy", "*", url]).exitCode == 0
        }
    }

    var port: UInt16 { reserved.number }

    /// Returns the URL of a file, given its path below the served folder.
    func url(_ path: String) -> String {
        var parts = URLComponents()
        parts.path = "/" + path
        return "http://127.0.0.1:\(port)" + parts.percentEncodedPath
    }

    deinit { child.kill(SIGTERM) }
}
