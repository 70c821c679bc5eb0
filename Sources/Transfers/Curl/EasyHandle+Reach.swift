internal import CCrypto
internal import CCurl
internal import Platform

// Two checks that no request reaches a host in a more private network than the feed or server that refers to the host
// (`ReachPolicy`). curl calls the first check before it connects to an address, so that no packet reaches a refused
// host. It calls the second check before a request uses a connection, so that reused connections are checked too.
extension EasyHandle {
    func configureReach() {
        let handle = pointer
        let context = Unmanaged.passUnretained(self).toOpaque()
        ccurl_set_pointer(handle, CURLOPT_OPENSOCKETDATA, context)
        ccurl_set_open_socket_callback(handle) { context, _, address in
            guard let context, let address else { return CURL_SOCKET_BAD }
            let handle = Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
            let bytes = UnsafeRawBufferPointer(
                start: ccurl_socket_address(address), count: Int(address.pointee.addrlen))
            guard handle.allowsConnection(to: bytes) else { return CURL_SOCKET_BAD }
            let type = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
            return socket(address.pointee.family, type, address.pointee.protocol)
        }
        ccurl_set_pointer(handle, CURLOPT_PREREQDATA, context)
        ccurl_set_prerequest_callback(handle) { context, address, _, port, _ in
            guard let context, let address else { return CURL_PREREQFUNC_ABORT }
            let handle = Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
            let isAllowed = handle.allowsRequest(to: String(cString: address), port: Int(port))
            return isAllowed ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
        }
    }

    private func allowsConnection(to bytes: UnsafeRawBufferPointer) -> Bool {
        guard let address = NetworkAddress(socketAddress: bytes), let hop else { return false }
        // The port has the same offset for IPv4 and IPv6.
        let port = Int(bytes[2]) << 8 | Int(bytes[3])
        return trail.allowsConnection(to: peer(address, port, of: hop), host: hop.host)
    }

    private func allowsRequest(to address: String, port: Int) -> Bool {
        guard let address = NetworkAddress(address), let hop else { return false }
        return trail.allowsRequest(to: peer(address, port, of: hop), host: hop.host)
    }

    /// Returns the peer of a connection: the configured proxy, or the host itself. A host that has the proxy's address
    /// and port is treated as the proxy. If the proxy is configured by name, only the port is compared.
    private func peer(_ address: NetworkAddress, _ port: Int, of hop: WebAddress) -> ReachTrail.Peer {
        guard let proxy = network.proxies.proxy(isSecure: hop.isSecure, host: hop.host), proxy.port == port,
            NetworkAddress(proxy.host).map({ $0 == address }) ?? true
        else { return .host(address) }
        return .proxy
    }

    /// The current URL, after redirects; `nil` if it is refused.
    var hop: WebAddress? {
        guard let url = effectiveURL else { return nil }
        do throws(WebAddress.Problem) {
            return try WebAddress(url)
        } catch {
            reject(TransferError(.unusable, "a redirect leads to an address that \(error)"))
            return nil
        }
    }

    /// Whether no server has answered, not even with a redirect to another one.
    var hasNoAnswer: Bool { !hasReportedHead && redirects.isEmpty }

    /// Returns the error of an exchange that ended with `code`, and whether a retry may help.
    func failure(_ code: CurlCode) -> (error: TransferError, isTransient: Bool) {
        if let rejection { return (rejection, false) }
        if code.mayBeRefusal, let refusal = trail.refusal { return (refusal, false) }
        if code.isCertificateFailure { return certificateFailure() }
        if answeredWithoutHead(code) {
            // On a reused connection the bytes may be left over from an earlier response, so a retry may help.
            return (
                TransferError(.unusable, "the server's answer has no head (HTTP/0.9)"),
                integer(CURLINFO_NUM_CONNECTS) == 0
            )
        }
        if code == .outOfMemory, isReceivingHead { return (CurlCode.headTooLarge, false) }
        return code.failure
    }

    /// Whether bytes of the response have arrived, but not its whole head.
    private var isReceivingHead: Bool { offset(CURLINFO_STARTTRANSFER_TIME_T) > 0 && !hasReportedHead }

    /// Whether the response did not start with an HTTP/1 head. curl has the same code for that and for an unsupported
    /// scheme.
    func answeredWithoutHead(_ code: CurlCode) -> Bool {
        guard code.isUnsupported, let url = effectiveURL else { return false }
        return WebAddress.problem(with: url) != .scheme
    }

    /// The current URL as curl gives it, after redirects.
    var effectiveURL: String? { text(CURLINFO_EFFECTIVE_URL) }

    // MARK: curl_easy_getinfo(3), with 0 and `nil` for what curl does not know

    func integer(_ info: CURLINFO) -> Int {
        var value = 0
        ccurl_get_long(pointer, info, &value)
        return value
    }

    func offset(_ info: CURLINFO) -> Int64 {
        var value: curl_off_t = 0
        ccurl_get_offset(pointer, info, &value)
        return Int64(value)
    }

    private func text(_ info: CURLINFO) -> String? {
        var value: UnsafeMutablePointer<CChar>?
        ccurl_get_string(pointer, info, &value)
        return value.map { String(cString: $0) }
    }
}

extension EasyHandle {
    /// The local address of the connection; `nil` while there is none.
    var localAddress: NetworkAddress? { text(CURLINFO_LOCAL_IP).flatMap { NetworkAddress($0) } }
}

// Verification of certificates.
extension EasyHandle {
    func configureAuthorities() {
        ccurl_set_string(pointer, CURLOPT_CAINFO, network.authorities.bundle)
        ccurl_set_string(pointer, CURLOPT_CAPATH, network.authorities.folder)
    }

    /// Returns the error of an exchange that ended because the certificate of the server or the proxy was rejected.
    func certificateFailure() -> (error: TransferError, isTransient: Bool) {
        // There is advice if the system has no CA certificates. A retry succeeds once they are installed.
        if let advice = network.authorities.advice {
            return (TransferError(.unreachable, advice, certificate: .unverifiable), true)
        }
        let proxy = integer(CURLINFO_PROXY_SSL_VERIFYRESULT)
        let owner = proxy != 0 ? "the proxy" : hop?.host ?? "the server"
        let reason = Self.reason(integer(proxy != 0 ? CURLINFO_PROXY_SSL_VERIFYRESULT : CURLINFO_SSL_VERIFYRESULT))
        let message = "the certificate of \(owner) is not trusted: \(reason)"
        return (TransferError(.unreachable, message, certificate: .rejected), false)
    }

    /// Returns the reason for which a certificate was rejected.
    ///
    /// - Parameter result: The result of OpenSSL's verification (X509_STORE_CTX_get_error(3)).
    static func reason(_ result: Int) -> String {
        switch result {
        // 0 (X509_V_OK), 1 (X509_V_ERR_UNSPECIFIED): the chain is valid, but libcurl, which compares the names itself,
        // has found no match. 62, 64: OpenSSL has found none (X509_V_ERR_HOSTNAME_MISMATCH,
        // X509_V_ERR_IP_ADDRESS_MISMATCH).
        case 0, 1, 62, 64: "it is for another host"
        case 10: "it has expired, or the clock of this computer is wrong"
        case 18: "it is self-signed; transfers.ca_file can add it"
        case 2, 19, 20, 21, 27: "its authority is not known here; transfers.ca_file can add it"
        default: String(cString: X509_verify_cert_error_string(result))
        }
    }
}
