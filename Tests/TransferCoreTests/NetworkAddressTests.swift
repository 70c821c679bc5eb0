import Testing

@testable import Transfers

/// The parsing of IP addresses and address blocks, and the address space (loopback, local or public) of an address,
/// according to the IANA registries of special-purpose addresses.
struct NetworkAddressTests {
    @Test(arguments: [
        // 0/8 and 127/8, with the first and last address of each.
        (AddressSpace.loopback, ["0.0.0.0", "0.1.2.3", "0.255.255.255", "127.0.0.1", "127.0.0.0", "127.255.255.255"]),
        (.public, ["1.0.0.0", "126.255.255.255", "128.0.0.0"]),
        (.local, ["10.0.0.0", "10.255.255.255"]), (.public, ["9.255.255.255", "11.0.0.0"]),
        (.local, ["172.16.0.0", "172.31.255.255"]), (.public, ["172.15.255.255", "172.32.0.0"]),
        (.local, ["192.168.0.0", "192.168.255.255"]), (.public, ["192.167.255.255", "192.169.0.0"]),
        (.local, ["100.64.0.0", "100.127.255.255"]), (.public, ["100.63.255.255", "100.128.0.0"]),
        (.local, ["169.254.0.0", "169.254.169.254", "169.254.255.255"]), (.public, ["169.253.255.255", "169.255.0.0"]),
        (.local, ["192.0.0.8", "192.0.2.1", "198.51.100.1", "203.0.113.255", "192.88.99.1"]),
        (.public, ["192.0.1.0", "192.0.3.0", "198.51.101.0", "203.0.114.0", "192.88.98.1"]),
        (.local, ["198.18.0.0", "198.19.255.255"]), (.public, ["198.17.255.255", "198.20.0.0"]),
        (.local, ["224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"]), (.public, ["223.255.255.255"]),
        // IPv6.
        (.loopback, ["::", "::1"]),
        (.public, ["2000::", "2606:4700::1111", "2a00:1450:4001::", "3ffe::1", "2001:200::1", "2001:db9::"]),
        (.local, ["fc00::", "fd12:3456::1", "fdff:ffff::1", "fe80::1", "febf::1", "fec0::1", "ff02::1", "ff0e::1"]),
        (
            .local,
            ["100::1", "2001:db8::1", "2001:2::1", "2001:1ff::1", "3fff::1", "3fff:fff::1", "5f00::1", "64:ff9b:1::1"]
        ),
        (.local, ["4000::1", "1fff::1", "e000::1", "::2:0:0"]), (.public, ["3fff:1000::1"]),
        // With an embedded IPv4 address: mapped, compatible, translated, NAT64, 6to4, Teredo, ISATAP.
        (.loopback, ["::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1", "::ffff:0:127.0.0.1", "::ffff:0.0.0.0"]),
        (.loopback, ["64:ff9b::127.0.0.1", "2002:7f00:1::1", "2001:0:1:2:3:4:80ff:fffe", "2a00::5efe:127.0.0.1"]),
        (.local, ["::ffff:10.1.2.3", "64:ff9b::192.168.1.1", "2002:c0a8:101::", "2001:0:1:2:3:4:f5fe:fdfc"]),
        (.local, ["2a00::200:5efe:10.0.0.1", "fe80::5efe:93.184.216.34", "::93.184.216.34", "::ffff:0:93.184.216.34"]),
        (.public, ["::ffff:93.184.216.34", "64:ff9b::93.184.216.34", "2002:5db8:d822::1", "2001:0:1:2:3:4:a247:27dd"]),
    ])
    func addressesHaveTheirSpaces(_ space: AddressSpace, _ texts: [String]) throws {
        for text in texts {
            let address = try #require(NetworkAddress(text), "\(text)")
            #expect(address.space == space, "\(text)")
            if text.contains(":") { #expect(NetworkAddress("[\(text)]") == address) }
        }
    }

    @Test func bothFormsOfAnIPv4AddressAreOne() {
        #expect(NetworkAddress("1.2.3.4") == NetworkAddress("::ffff:1.2.3.4"))
        #expect(NetworkAddress("1.2.3.4") == NetworkAddress("::FFFF:102:304"))
        #expect(NetworkAddress("1:2:3:4:5:6:7:8") == NetworkAddress("1:2:3:4:5:6:0.7.0.8"))
        #expect(NetworkAddress("1::8") != NetworkAddress("1::7"))
    }

    @Test(arguments: [
        "", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "1.2.3.4 ", "+1.2.3.4", "0x7f.1", "2130706433", "localhost",
        ":", ":::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "12345::", "g::", "::1.2.3",
        "1.2.3.4::", "fe80::1%eth0", "[::1", "::+1", "١.2.3.4",
    ])
    func otherTextIsNoAddress(_ text: String) { #expect(NetworkAddress(text) == nil) }

    @Test func socketAddressesAreRead() {
        func read(_ bytes: [UInt8]) -> NetworkAddress? { bytes.withUnsafeBytes { NetworkAddress(socketAddress: $0) } }
        let port: [UInt8] = [0x1F, 0x90]
        #expect(
            read([2, 0] + port + [192, 168, 1, 7] + [UInt8](repeating: 0, count: 8)) == NetworkAddress("192.168.1.7"))
        let six: [UInt8] = [0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]
        #expect(read([10, 0] + port + [0, 0, 0, 0] + six + [0, 0, 0, 0]) == NetworkAddress("fd00::9"))
        #expect(read([10, 0] + port + [0, 0, 0, 0] + six.dropLast()) == nil && read([2, 0, 0]) == nil)
        #expect(read([1, 0] + Array("/run/x".utf8)) == nil, "AF_UNIX")
    }

    @Test func blocksAreComparedByBits() throws {
        func contains(_ block: String, _ address: String) throws -> Bool {
            try #require(AddressBlock(block)).contains(try #require(NetworkAddress(address)))
        }
        #expect(try contains("192.168.1.0/24", "192.168.1.255") && contains("192.168.1.0/24", "::ffff:192.168.1.9"))
        #expect(try !contains("192.168.1.0/24", "192.168.2.0") && !contains("192.168.1.0/24", "fd00::1"))
        #expect(try contains("10.0.0.5", "10.0.0.5") && !contains("10.0.0.5", "10.0.0.4"))
        #expect(
            try contains("0.0.0.0/0", "8.8.8.8") && !contains("0.0.0.0/0", "2a00::1") && contains("::/0", "8.8.8.8"))
        #expect(
            try contains("fd00::/8", "fdff::1") && contains("fd00:1::/33", "fd00:1:7fff::") && contains("::1", "::1"))
        #expect(try !contains("fd00:1::/33", "fd00:1:8000::") && !contains("fd00::1/127", "fd00::2"))
        for text in ["10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "/8", "nas.lan/8", "10.0.0.0/8/8"] {
            #expect(AddressBlock(text) == nil, "\(text)")
        }
    }
}
