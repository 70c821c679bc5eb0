import Foundation
import Glibc
import TestSupport

/// nginx with TLS. Its certificate is signed by an authority that exists only for this server.
final class SecureServer: Sendable {
    private let reserved: ReservedPort
    /// The path of the authority's certificate.
    let authority: String
    /// The path of the served folder.
    let root: String
    private let folder: TemporaryDirectory
    private let child: ChildProcess

    /// - Parameters:
    ///   - names: The hosts in the certificate, in the syntax of `subjectAltName`, such as `DNS:localhost`.
    ///   - validity: The options of openssl that set the certificate's validity.
    init(names: [String], validity: [String] = ["-days", "2"]) async throws {
        let folder = try TemporaryDirectory()
        self.folder = folder
        root = try folder.makeDirectory("www")
        authority = folder.file("ca.pem")
        func openssl(_ arguments: String...) async throws {
            let result = try await ChildProcess.run("openssl", arguments)
            guard result.exitCode == 0 else {
                throw SystemCallError("openssl: \(result.error)", code: result.exitCode ?? 0)
            }
        }
        try await openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=Test authority", "-keyout", folder.file("ca.key"), "-out", folder.file("ca.pem"))
        try await openssl(
            "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=server",
            "-keyout", folder.file("key.pem"), "-out", folder.file("request.pem"))
        try folder.write("names", text: "subjectAltName=" + names.joined(separator: ","))
        let signing = [
            "x509", "-req", "-in", folder.file("request.pem"), "-CA", folder.file("ca.pem"), "-CAkey",
            folder.file("ca.key"), "-CAcreateserial", "-extfile", folder.file("names"), "-out", folder.file("cert.pem"),
        ]
        let signed = try await ChildProcess.run("openssl", signing + validity)
        guard signed.exitCode == 0 else {
            throw SystemCallError("openssl: \(signed.error)", code: signed.exitCode ?? 0)
        }
        reserved = try ReservedPort()
        let port = reserved.number
        let configuration = try folder.write(
            "nginx.conf",
            text: """
                daemon off;
                master_process off;
                pid \(folder.path)/nginx.pid;
                error_log stderr;
                events { worker_connections 64; }
                http {
                    include /etc/nginx/mime.types;
                    access_log \(folder.path)/access.log;
                    client_body_temp_path \(folder.path)/body;
                    server {
                        listen 127.0.0.1:\(port) ssl;
                        ssl_certificate \(folder.path)/cert.pem;
                        ssl_certificate_key \(folder.path)/key.pem;
                        ssl_protocols TLSv1.2 TLSv1.3;
                        root \(folder.path)/www;
                    }
                }
                """)
        child = try ChildProcess("nginx", ["-c", configuration, "-g", "user root;"])
        let child = child
        try await waitUntil(deadline: .seconds(60), description: "nginx answers: \(child.error)") {
            try await ChildProcess.run(
                "curl", ["-s", "-k", "--noproxy", "*", "https://127.0.0.1:\(port)/"]
            ).exitCode == 0
        }
    }

    deinit { child.kill(SIGTERM) }

    var port: UInt16 { reserved.number }

    func url(_ path: String, host: String = "localhost") -> String { "https://\(host):\(port)\(path)" }

    func write(_ name: String, _ bytes: [UInt8]) throws { try folder.write("www/" + name, bytes) }
}
