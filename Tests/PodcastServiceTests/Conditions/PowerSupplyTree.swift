import Foundation
import TestSupport

/// A folder with the shape of `/sys/class/power_supply`.
struct PowerSupplyTree {
    private let folder: TemporaryDirectory
    let path: String

    init() throws {
        folder = try TemporaryDirectory()
        path = try folder.makeDirectory("power_supply")
    }

    /// Adds a supply, or changes the properties of one. As in sysfs, every value ends with a newline.
    func set(_ name: String, _ properties: KeyValuePairs<String, String>) throws {
        try folder.makeDirectory("power_supply/\(name)")
        for (property, value) in properties { try folder.write("power_supply/\(name)/\(property)", text: value + "\n") }
    }

    func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: "\(path)/\(name)") }
}
