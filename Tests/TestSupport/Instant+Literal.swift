package import Platform

/// Literals of milliseconds, for tables of events.
extension Instant: ExpressibleByIntegerLiteral {
    package init(integerLiteral milliseconds: Int64) { self = .milliseconds(milliseconds) }
}
