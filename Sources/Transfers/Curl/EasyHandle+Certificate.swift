internal import CCurl
internal import Platform

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
            return (TransferError(.unreachable, advice, isCertificate: true), true)
        }
        var (host, proxy) = (0, 0)
        ccurl_get_long(pointer, CURLINFO_SSL_VERIFYRESULT, &host)
        ccurl_get_long(pointer, CURLINFO_PROXY_SSL_VERIFYRESULT, &proxy)
        let owner = proxy != 0 ? "the proxy" : hop?.host ?? "the server"
        let rejection = CertificateRejection(verifyResult: proxy != 0 ? proxy : host)
        let advice = rejection.isUnknownAuthority ? network.authorities.adviceOnUnknownAuthority : nil
        let reason = rejection.reason + (advice.map { "; " + $0 } ?? "")
        let message = "the certificate of \(owner) is not trusted: \(reason)"
        return (TransferError(.unreachable, message, isCertificate: true), false)
    }
}

/// The reason why a server's or a proxy's certificate was rejected.
struct CertificateRejection: Equatable {
    let reason: String
    /// Whether no known authority has signed the certificate, directly or through others.
    let isUnknownAuthority: Bool

    /// - Parameter result: The result of OpenSSL's verification (X509_STORE_CTX_get_error(3)).
    init(verifyResult result: Int) {
        isUnknownAuthority = [2, 19, 20, 21, 27].contains(result)
        reason =
            switch result {
            // 0 (X509_V_OK), 1 (X509_V_ERR_UNSPECIFIED): the chain is valid, but libcurl, which compares the names
            // itself, has found no match. 62, 64: OpenSSL has found none (X509_V_ERR_HOSTNAME_MISMATCH,
            // X509_V_ERR_IP_ADDRESS_MISMATCH).
            case 0, 1, 62, 64: "it is for another host"
            case 9: "it is not valid yet, or the clock of this computer is wrong"
            case 10: "it has expired, or the clock of this computer is wrong"
            case 18: "it is self-signed; transfers.ca_file can add it"
            case 2, 19, 20, 21, 27: "its authority is not known here; transfers.ca_file can add it"
            case 23: "it is revoked"
            case 66, 67, 68: "its key or its signature is too weak"
            default: "OpenSSL's verification error \(result)"
            }
    }
}
