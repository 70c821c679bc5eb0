import CLinux
import Foundation
import Glibc

/// Requirements of the tests that mount.
enum TestMachine {
    /// Ends the test run at the first test that mounts, with one line that names the missing requirement. Otherwise
    /// hundreds of tests would fail for that one reason.
    static func requireMounting() { _ = checked }

    private static let checked: Void = {
        guard let missing = missingForMounts else { return }
        FileHandle.standardError.write(Data("podfs tests cannot mount: \(missing)\n".utf8))
        exit(1)
    }()

    /// The missing requirement and its remedy; `nil` if mounting is possible.
    private static var missingForMounts: String? {
        guard InstalledProgram.exists("fusermount3") else {
            return "fusermount3 is not in PATH; install the package fuse3"
        }
        // The character device 10:229: MISC_MAJOR of linux/major.h, FUSE_MINOR of linux/miscdevice.h.
        var status = stat()
        guard stat("/dev/fuse", &status) == 0, status.st_rdev == 10 << 8 | 229 else {
            return "/dev/fuse is missing; load the kernel module (modprobe fuse), or pass the device to the container"
        }
        let descriptor = open("/dev/fuse", O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            return "/dev/fuse cannot be opened: \(reason); run the tests as root, or chmod 666 /dev/fuse"
        }
        close(descriptor)
        return nil
    }
}
