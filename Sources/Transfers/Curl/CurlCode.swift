internal import CCurl

/// The result of a transfer according to curl (CURLcode, libcurl-errors(3)).
struct CurlCode: Equatable {
    private let raw: CURLcode

    init(_ raw: CURLcode) { self.raw = raw }

    var isSuccess: Bool { raw == CURLE_OK }
    /// Whether the write or header callback ended the transfer.
    var isStopped: Bool { raw == CURLE_WRITE_ERROR }

    /// Whether the scheme is not supported, or the response did not start with an HTTP head.
    var isUnsupported: Bool { raw == CURLE_UNSUPPORTED_PROTOCOL }

    /// Whether this code can mean that `EasyHandle` refused the server's IP address. An ordinary failure to connect has
    /// the code CURLE_COULDNT_CONNECT too.
    var mayBeRefusal: Bool { raw == CURLE_COULDNT_CONNECT || raw == CURLE_ABORTED_BY_CALLBACK }

    /// Whether the server's certificate was rejected, or the file of CA certificates cannot be read.
    var isCertificateFailure: Bool { raw == CURLE_PEER_FAILED_VERIFICATION || raw == CURLE_SSL_CACERT_BADFILE }

    /// No memory was left. Until curl 8.5 also the code for a line of the head that is longer than 100 KiB.
    static let outOfMemory = CurlCode(CURLE_OUT_OF_MEMORY)
    static let headTooLarge = TransferError(.unusable, "the head of the server's answer is too large")

    /// The error, and whether a retry may help.
    var failure: (error: TransferError, isTransient: Bool) {
        let says = String(cString: curl_easy_strerror(raw))
        switch raw {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT:
            return (TransferError(.unreachable, lowered(says)), true)
        case CURLE_SSL_CONNECT_ERROR:
            return (TransferError(.unreachable, "no TLS connection was made: the server may have only http"), true)
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE:
            return (TransferError(.unreachable, "the server's certificate is not trusted (\(says))"), false)
        case CURLE_OPERATION_TIMEDOUT:
            return (TransferError(.timedOut, "the server stopped responding"), true)
        case CURLE_PARTIAL_FILE:
            return (TransferError(.failed, "the server closed the connection early"), true)
        case CURLE_GOT_NOTHING:
            return (TransferError(.failed, "the server closed the connection without an answer"), true)
        case CURLE_UNSUPPORTED_PROTOCOL:
            return (TransferError(.unusable, "the address, or a redirect, is not http or https"), false)
        case CURLE_TOO_MANY_REDIRECTS:
            return (TransferError(.unusable, "the server's redirects form a loop"), false)
        case CURLE_WEIRD_SERVER_REPLY:
            // A malformed Content-Length, for example.
            return (TransferError(.unusable, "the server's answer is not HTTP"), false)
        case CURLcode(rawValue: 100):
            // CURLE_TOO_LARGE since curl 8.6: a line of the head is longer than 100 KiB.
            return (Self.headTooLarge, false)
        case CURLE_URL_MALFORMAT:
            return (TransferError(.unusable, "the address is malformed"), false)
        default:
            return (TransferError(.failed, lowered(says)), true)
        }
    }

    private func lowered(_ text: String) -> String { text.prefix(1).lowercased() + text.dropFirst() }
}
