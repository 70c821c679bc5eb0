package import Platform

// Handling of the responses to an upload's requests.
extension UploadMachine {
    /// Handles the response to a request.
    ///
    /// - Parameters:
    ///   - head: The head of the final response. It may be a redirect, since the caller follows none.
    ///   - location: The response's Location as an absolute URL; `nil` if there is none, or if it is not http or https.
    package mutating func answered(
        _ id: RequestID, _ head: ResponseHead, location: String?, now: Instant, random: Double
    ) -> [Action] {
        guard case .requesting(id, let request, _) = state else { return [] }
        if let redirected = redirected(request, head, to: location) { return redirected }
        switch request {
        case .post: return postAnswered(head, location, now: now, random: random)
        case .options(let mediaURL): return optionsAnswered(head, mediaURL, now: now, random: random)
        case .head(let mediaURL): return headAnswered(head, mediaURL, now: now, random: random)
        case .patch(let mediaURL, let offset): return patchAnswered(head, mediaURL, offset, now: now, random: random)
        case .put: return putAnswered(head, now: now, random: random)
        }
    }

    /// Handles a request that ended without a response.
    ///
    /// - Parameters:
    ///   - wasSent: Whether a part of the request reached the network, so that the server may have processed it.
    ///   - isTransient: Whether a retry may help.
    package mutating func lost(
        _ id: RequestID, _ error: TransferError, wasSent: Bool, isTransient: Bool, now: Instant, random: Double
    ) -> [Action] {
        guard case .requesting(id, let request, _) = state else { return [] }
        var actions: [Action] = []
        if case .post = request, !wasSent { actions += withdrawPost() }
        return actions + (isTransient ? scheduleRetry(after: error, pause: nil, now: now, random: random) : fail(error))
    }

    // MARK: Redirects

    /// Handles a redirect. The same request is sent to the new address after 301, 307 or 308, and after 302 unless the
    /// request is a POST. A 302 to a POST counts as a 303, because programs sent it as such before 303 existed, and
    /// browsers treat it as a 303 (RFC 9110 §15.4.3).
    ///
    /// - Returns: `nil` if the response is none of these redirects.
    private mutating func redirected(_ request: Request, _ head: ResponseHead, to location: String?) -> [Action]? {
        let isPost = if case .post = request { true } else { false }
        guard [301, 307, 308].contains(head.status) || head.status == 302 && !isPost else { return nil }
        guard let location else {
            return (isPost ? withdrawPost() : [])
                + fail(TransferError(.unusable, "the server redirects to an address that is not http or https"))
        }
        redirects += 1
        if redirects > Self.maxRedirects {
            return (isPost ? withdrawPost() : [])
                + fail(TransferError(.unusable, "the server's redirects form a loop"))
        }
        switch request {
        case .post:
            postURL = location
            return send(.post(location))
        case .options:
            resumeData.location = location
            return record(then: .options(location))
        case .head, .patch:
            resumeData.location = location
            return record(then: .head(location))
        case .put:
            resumeData.location = location
            return record(then: .put(location))
        }
    }

    // MARK: Responses by request

    private mutating func postAnswered(
        _ head: ResponseHead, _ location: String?, now: Instant, random: Double
    ) -> [Action] {
        switch head.status {
        case 201, 302, 303:
            guard let location else {
                return fail(
                    TransferError(
                        .unusable,
                        "the server accepted the post, but named no http or https address for the media "
                            + "(no Location): is this the address of a list of videos?"))
            }
            return posted(at: location, speaksTus: Self.offersTus(head) ? true : nil)
        case 200...299:
            return fail(
                TransferError(
                    .unusable,
                    "the server answered \(head.status) to the POST without saying where the media go; 303 or 201 with a "
                        + "Location was expected: is this the address of a list of videos?"))
        case 408, 425, 429, 503:
            // These statuses say that the server has not processed the POST.
            return withdrawPost()
                + scheduleRetry(after: Self.failure(head), pause: head.retryAfter, now: now, random: random)
        // 409: an earlier attempt with the same key is still in progress (§2.7 of the Idempotency-Key draft).
        case 500...599,
            409 where repeatsPost || attempts.count > 0:
            return scheduleRetry(after: Self.failure(head), pause: head.retryAfter, now: now, random: random)
        default: return withdrawPost() + fail(Self.refusal(ofPost: head))
        }
    }

    /// Returns the error for a refused POST, with the remedy if that is known.
    private static func refusal(ofPost head: ResponseHead) -> TransferError {
        let failure = failure(head)
        let says = "the server answered \(head.status) to the POST"
        switch head.status {
        case 404, 405, 410:
            return TransferError(failure.code, "\(says): is this the address of a list of videos?")
        case 400, 415, 422:
            return TransferError(failure.code, "\(says): it rejects this title, description or image")
        default: return failure
        }
    }

    private mutating func optionsAnswered(
        _ head: ResponseHead, _ mediaURL: String, now: Instant, random: Double
    ) -> [Action] {
        switch head.status {
        case 408, 425, 429, 502, 503, 504:
            return scheduleRetry(after: Self.failure(head), pause: head.retryAfter, now: now, random: random)
        default:
            // Any other problem shows in the following request.
            let speaksTus = Self.offersTus(head)
            resumeData.speaksTus = speaksTus
            return record(then: speaksTus ? .head(mediaURL) : .put(mediaURL))
        }
    }

    private mutating func headAnswered(
        _ head: ResponseHead, _ mediaURL: String, now: Instant, random: Double
    ) -> [Action] {
        switch head.status {
        case 200...299:
            guard let offset = head["upload-offset"].flatMap({ Int64(digits: $0) }) else {
                return sendWhole(to: mediaURL)
            }
            if let length = head["upload-length"], Int64(digits: length) != size {
                return fail(
                    TransferError(
                        .unusable,
                        "the server expects a file of \(length.prefix(20)) bytes, but this one has \(size)"))
            }
            guard offset <= size else {
                return fail(TransferError(.unusable, "the server claims to have \(offset) bytes of \(size)"))
            }
            recordOffset(offset)
            namesLength = head["upload-length"] == nil && head["upload-defer-length"] == "1"
            // An upload whose length the server does not know is not complete, however many bytes it has.
            if offset == size, !namesLength { return complete() }
            return record(then: .patch(mediaURL, offset: offset))
        case 405, 501: return sendWhole(to: mediaURL)
        default: return failed(head, orRetries: [423], now: now, random: random)
        }
    }

    private mutating func patchAnswered(
        _ head: ResponseHead, _ mediaURL: String, _ offset: Int64, now: Instant, random: Double
    ) -> [Action] {
        switch head.status {
        case 200...299:
            guard let reached = head["upload-offset"].flatMap({ Int64(digits: $0) }), reached <= size,
                reached > offset || offset == size
            else {
                // The HEAD request of the retry will return the number of received bytes.
                let error = TransferError(.unusable, "the server did not say how many bytes it has received")
                return scheduleRetry(after: error, pause: nil, now: now, random: random)
            }
            recordOffset(reached)
            namesLength = false
            return reached == size ? complete() : record(then: .patch(mediaURL, offset: reached))
        // 409: the server's offset differs. 423: a broken connection still holds the lock.
        default: return failed(head, orRetries: [409, 423], now: now, random: random)
        }
    }

    private mutating func putAnswered(_ head: ResponseHead, now: Instant, random: Double) -> [Action] {
        // 303: processed, with a description at another URL.
        if (200...299).contains(head.status) || head.status == 303 { return complete() }
        return failed(head, now: now, random: random)
    }

    // MARK: -

    private mutating func complete() -> [Action] {
        state = .completed
        sent = size
        return [.completed]
    }

    /// Falls back to a PUT of the whole file, since the server does not support tus (resumable uploads) after all.
    private mutating func sendWhole(to mediaURL: String) -> [Action] {
        resumeData.speaksTus = false
        resumeData.offset = 0
        return record(then: .put(mediaURL))
    }

    /// Records the number of bytes that the server reports.
    private mutating func recordOffset(_ offset: Int64) {
        if offset > furthest.confirmed {
            furthest.confirmed = offset
            progressed()
        }
        furthest.sent = max(furthest.sent, offset)
        resumeData.offset = offset
        sent = offset
    }

    /// Handles a failure, which is permanent unless the status is a transient one or in `statuses`.
    private mutating func failed(
        _ head: ResponseHead, orRetries statuses: [Int] = [], now: Instant, random: Double
    ) -> [Action] {
        let isTransient = [408, 425, 429].contains(head.status) || (500...599).contains(head.status)
        guard isTransient || statuses.contains(head.status) else { return fail(Self.failure(head)) }
        return scheduleRetry(after: Self.failure(head), pause: head.retryAfter, now: now, random: random)
    }

    /// Returns whether a response names this version of tus, in Tus-Version or Tus-Resumable.
    private static func offersTus(_ head: ResponseHead) -> Bool {
        let fields = [head["tus-version"], head["tus-resumable"]].compactMap { $0 }
        return fields.flatMap { $0.split(separator: ",") }.contains {
            $0.filter { $0 != " " && $0 != "\t" } == tusVersion
        }
    }

    private static func failure(_ head: ResponseHead) -> TransferError {
        let says = "the server answered \(head.status)"
        switch head.status {
        case 401:
            return TransferError(
                .refused,
                "\(says): it requires a user name and password (in the address or ~/.netrc), or rejects those sent")
        case 403: return TransferError(.refused, "\(says): it does not allow this upload")
        case 404, 410: return TransferError(.missing, "\(says): the upload address no longer exists")
        case 413: return TransferError(.failed, "\(says): the file is too large for the server")
        case 200...399: return TransferError(.unusable, says)
        default: return TransferError(.failed, says)
        }
    }
}
