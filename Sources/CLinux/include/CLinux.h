// Linux calls and constants that Swift's Glibc module lacks, and macros that Swift cannot import.
// Each function wraps one call or macro, or fills a structure of the C library: no logic here.
#ifndef CLINUX_H
#define CLINUX_H

// _GNU_SOURCE is defined in CLinux.c and not here: it changes the layout of fd_set, which other modules use too.

// To Swift, the types of the C library belong to its module, here and in every other module of this package that
// includes the same headers. Without the import they would be members of the module that a compilation happens to load
// first, and `import Glibc` alone would not always make their fields visible.
#ifdef __swift__
#pragma clang module import SwiftGlibc
#endif
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <malloc.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

/// Gets the credentials of a Unix socket's peer: getsockopt(SO_PEERCRED), see unix(7). Returns 0, or -1 with errno.
int clinux_peer_credentials(int fd, uid_t *uid, pid_t *pid);

/// Fills a sockaddr_un. Returns 0, or -1 with ENAMETOOLONG if the path does not fit into its 108 bytes.
static inline int clinux_unix_address(const char *path, struct sockaddr_un *address, socklen_t *length) {
    size_t count = __builtin_strlen(path);
    __builtin_memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (count >= sizeof address->sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    __builtin_memcpy(address->sun_path, path, count + 1);
    *length = (socklen_t)(__builtin_offsetof(struct sockaddr_un, sun_path) + count + 1);
    return 0;
}

/// Sets an open file description lock on the whole file (F_OFD_SETLK, fcntl(2)). `type` is F_RDLCK, F_WRLCK or F_UNLCK.
/// Returns 0, or -1 with errno: EAGAIN if another description holds a conflicting lock.
int clinux_ofd_lock(int fd, short type);

/// Whether another description has a lock on the file, of either kind (F_OFD_GETLK): 1 or 0, or -1 with errno.
int clinux_ofd_is_locked(int fd);

/// prctl(PR_SET_NAME): sets the name of the calling thread, truncated to 15 bytes.
static inline int clinux_set_thread_name(const char *name) { return prctl(PR_SET_NAME, name, 0, 0, 0); }

/// SEEK_DATA and SEEK_HOLE of lseek(2).
off_t clinux_seek_data(int fd, off_t offset);
off_t clinux_seek_hole(int fd, off_t offset);

/// copy_file_range(2) from the descriptors' own offsets.
ssize_t clinux_copy_file_range(int from, int to, size_t count);

/// renameat2(2) with RENAME_EXCHANGE: exchanges two paths atomically. Returns 0, or -1 with errno: ENOENT if one of
/// them does not exist, EINVAL or ENOSYS if the file system does not support the exchange.
int clinux_exchange(const char *one, const char *other);

/// renameat2(2) with RENAME_NOREPLACE. Returns 0, or -1 with errno: EEXIST if there is a file `to`, EINVAL or ENOSYS if
/// the file system does not support the flag.
int clinux_rename_noreplace(int from_folder, const char *from, int to_folder, const char *to);

/// ioctl(FICLONE): makes `to` share the blocks of `from`. Returns 0, or -1 with errno.
int clinux_reflink(int from, int to);

/// ioprio_set(2) and setpriority(2) of the calling thread: disk and processors serve other threads first.
void clinux_set_low_priority(void);

static inline int clinux_openat(int folder, const char *path, int flags, mode_t mode) {
    return openat(folder, path, flags, mode);
}

/// The commit from which the program was built, from Package.swift; empty if it is unknown.
const char *clinux_commit(void);

/// dl_iterate_phdr(3): calls `body` for each PT_LOAD segment of the program and its libraries, and of the vDSO, which
/// is not mapped from a file. `object` is the library's name, `size` the segment's number of bytes in the file, `flags`
/// PF_R, PF_W and PF_X.
void clinux_each_segment(void (*body)(const char *object, uintptr_t address, size_t size, uint32_t flags));

/// accept4(2) without the peer's address; pipe2(2).
int clinux_accept(int fd, int flags);
int clinux_pipe(int fds[2], int flags);

static inline int clinux_open(const char *path, int flags, mode_t mode) { return open(path, flags, mode); }

pid_t clinux_gettid(void);

/// posix_spawn_file_actions_addclosefrom_np: the child closes all descriptors from `first` on.
int clinux_spawn_close_from(posix_spawn_file_actions_t *actions, int first);

/// pidfd_open(2): a descriptor that becomes readable when the process ends.
int clinux_pidfd_open(pid_t pid);

/// pidfd_send_signal(2), without further information.
int clinux_pidfd_send_signal(int process, int signal);

static inline int clinux_is_directory(mode_t mode) { return S_ISDIR(mode); }
static inline int clinux_is_regular(mode_t mode) { return S_ISREG(mode); }

#endif
