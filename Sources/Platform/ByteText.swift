/// Readable sizes and rates, in units that are powers of 1024 bytes (IEC 80000-13).
package enum ByteText {
    private static let units = ["B", "KiB", "MiB", "GiB", "TiB"]

    /// Returns a size: `512 B`, `4.0 KiB`, `93.1 MiB`.
    package static func size(_ bytes: Int64) -> String {
        if bytes < 1024 { return "\(bytes) B" }
        var value = Double(bytes)
        var unit = 0
        // A value that would round to 1024.0 is shown in the next unit.
        while value >= 1023.95, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        let tenths = Int64((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }

    /// Returns a rate: `4.0 KiB/s`.
    package static func rate(_ bytesPerSecond: Double) -> String { size(WholeNumber.of(bytesPerSecond)) + "/s" }
}
