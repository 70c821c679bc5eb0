import CLinux
import Glibc

/// The memory pages of the program itself and of its libraries.
enum ProgramPages {
    /// Releases pages of code and constants that were touched only during the start.
    ///
    /// Relocating the libraries, scanning the protocol conformances and parsing a command touch most of the program,
    /// and the kernel maps the pages around each touched one as well: 36 MB, of which a long-running process needs a
    /// third. The saving matters because two processes of podfs run all the time, also on machines with little memory.
    /// Pages that are touched again are mapped from the page cache, without a disk read. Only segments that were never
    /// writable are released, so no data is lost. The corresponding C function is `madvise` with `MADV_DONTNEED`.
    static func releaseStart() {
        clinux_each_segment { name, address, size, flags in
            // The vDSO is not mapped from a file.
            guard flags & UInt32(PF_W) == 0, name.map({ !String(cString: $0).hasPrefix("linux-vdso") }) ?? true else {
                return
            }
            let page = UInt(sysconf(Int32(_SC_PAGESIZE)))
            let start = (UInt(address) + page - 1) / page * page
            let end = (UInt(address) + UInt(size)) / page * page
            guard start < end, let pages = UnsafeMutableRawPointer(bitPattern: start) else { return }
            // A failure leaves the pages mapped.
            _ = madvise(pages, Int(end - start), MADV_DONTNEED)
        }
    }
}
