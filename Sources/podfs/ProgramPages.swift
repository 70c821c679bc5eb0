import CLinux
import Glibc

/// The pages of the program itself and of its libraries.
enum ProgramPages {
    /// Lets go of what only the start has needed of code and constants.
    ///
    /// To relocate the libraries, to look through the conformances of all types and to parse a command touches most of the
    /// program, and the kernel maps what lies around each page as well: 36 MB, of which a process that then serves for days
    /// needs a third. What is touched again is mapped again, from the page cache and without a read. Only segments
    /// that were never writable are let go of, so that nothing is lost. Two processes of podfs run all the time, also on
    /// machines with little memory. The corresponding C function is `madvise` with `MADV_DONTNEED`.
    static func releaseStart() {
        clinux_each_segment { name, address, size, flags in
            // The kernel's own code is no file.
            guard flags & UInt32(PF_W) == 0, name.map({ !String(cString: $0).hasPrefix("linux-vdso") }) ?? true else {
                return
            }
            let page = UInt(sysconf(Int32(_SC_PAGESIZE)))
            let start = (UInt(address) + page - 1) / page * page
            let end = (UInt(address) + UInt(size)) / page * page
            guard start < end, let pages = UnsafeMutableRawPointer(bitPattern: start) else { return }
            // Where it is refused all stays as it is.
            _ = madvise(pages, Int(end - start), MADV_DONTNEED)
        }
    }
}
