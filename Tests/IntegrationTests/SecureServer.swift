import Foundation
import Glibc
import TestSupport

/// nginx with TLS. Its certificate is signed by an authority that exists only for this server.
final class SecureServer: Sendable {
    /// The path of the authority's certificate.
    let authority: String
    /// The path of the served folder.
    let root: String
    private let folder: TemporaryDirectory
    private let nginx: Nginx

    /// - Parameters:
    ///   - names: The hosts in the certificate, in the syntax of `subjectAltName`, such as `DNS:localhost`.
    ///   - validity: The options of openssl that set the certificate's validity.
    init(names: [String], validity: [String] = ["-days", "2"]) async throws {
        let folder = try TemporaryDirectory()
        self.folder = folder
        root = try folder.makeDirectory("www")
        authority = folder.file("ca.pem")
        func openssl(_ arguments: [String]) async throws {
            let result = try await ChildProcess.run("openssl", arguments)
            guard result.exitCode == 0 else {
                throw SystemCallError("openssl: \(result.error)", code: result.exitCode ?? 0)
            }
        }
        let request = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        try await openssl(
            request + [
                "-x509", "-days", "2", "-subj", "/CN=Test authority", "-keyout", folder.file("ca.key"), "-out",
                authority,
            ])
        try await openssl(
            request + [
                "-subj", "/CN=server", "-keyout", folder.file("key.pem"), "-out", folder.file("request.pem"),
            ])
        try folder.write("names", text: "subjectAltName=" + names.joined(separator: ","))
        let signing = [
            "x509", "-req", "-in", folder.file("request.pem"), "-CA", authority, "-CAkey", folder.file("ca.key"),
            "-CAcreateserial", "-extfile", folder.file("names"), "-out", folder.file("cert.pem"),
        ]
        try await openssl(signing + validity)
        nginx = try await Nginx(
            in: folder,
            tls: """
                ssl_certificate \(folder.path)/cert.pem;
                ssl_certificate_key \(folder.path)/key.pem;
                ssl_protocols TLSv1.2 TLSv1.3;
                """)
    }

    var port: UInt16 { nginx.port }

    func url(_ path: String, host: String = "localhost") -> String { "https://\(host):\(port)\(path)" }

    func write(_ name: String, _ bytes: [UInt8]) throws { try folder.write("www/" + name, bytes) }
}
