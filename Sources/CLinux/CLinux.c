#define _GNU_SOURCE
#include "CLinux.h"

#include <link.h>
#include <linux/fs.h>
#include <linux/ioprio.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

int clinux_peer_credentials(int fd, uid_t *uid, pid_t *pid) {
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return -1;
    *uid = credentials.uid;
    *pid = credentials.pid;
    return 0;
}

int clinux_ofd_lock(int fd, short type) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0, .l_pid = 0};
    return fcntl(fd, F_OFD_SETLK, &lock);
}

int clinux_ofd_is_locked(int fd) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0, .l_pid = 0};
    return fcntl(fd, F_OFD_GETLK, &lock) == 0 ? lock.l_type != F_UNLCK : -1;
}

off_t clinux_seek_data(int fd, off_t offset) { return lseek(fd, offset, SEEK_DATA); }
off_t clinux_seek_hole(int fd, off_t offset) { return lseek(fd, offset, SEEK_HOLE); }

int clinux_exchange(const char *one, const char *other) {
    return renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
}

ssize_t clinux_copy_file_range(int from, int to, size_t count) {
    return copy_file_range(from, NULL, to, NULL, count, 0);
}

int clinux_rename_noreplace(int from_folder, const char *from, int to_folder, const char *to) {
    return renameat2(from_folder, from, to_folder, to, RENAME_NOREPLACE);
}

int clinux_reflink(int from, int to) { return ioctl(to, FICLONE, from); }

void clinux_set_low_priority(void) {
    syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 7));
    // The nice value belongs to the thread; see NOTES of setpriority(2).
    setpriority(PRIO_PROCESS, 0, 10);
}

const char *clinux_commit(void) { return PODFS_COMMIT; }

typedef void clinux_segment_body(const char *object, uintptr_t address, size_t size, uint32_t flags);

static int clinux_each_segment_of(struct dl_phdr_info *object, size_t size, void *context) {
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[i];
        if (header->p_type != PT_LOAD) continue;
        ((clinux_segment_body *)context)(
            object->dlpi_name, object->dlpi_addr + header->p_vaddr, header->p_filesz, header->p_flags);
    }
    return 0;
}

void clinux_each_segment(clinux_segment_body *body) { dl_iterate_phdr(clinux_each_segment_of, (void *)body); }

int clinux_accept(int fd, int flags) { return accept4(fd, NULL, NULL, flags); }
int clinux_pipe(int fds[2], int flags) { return pipe2(fds, flags); }

pid_t clinux_gettid(void) { return (pid_t)syscall(SYS_gettid); }
int clinux_spawn_close_from(posix_spawn_file_actions_t *actions, int first) {
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}
int clinux_pidfd_open(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }
int clinux_pidfd_send_signal(int process, int signal) {
    return (int)syscall(SYS_pidfd_send_signal, process, signal, NULL, 0);
}
