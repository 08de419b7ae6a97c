/* System calls that fail as they do on other file systems and systems; MISSING names them, with spaces:
 * flock-lustre (ENOSYS: Lustre mounted noflock), flock-nfs (ENOLCK: NFS without lockd), link (EPERM: FAT, some FUSE),
 * exchange (renameat2, EINVAL: ZFS, NFS), fallocate (EOPNOTSUPP: musl, FUSE), sync-directory (fsync of a directory, EINVAL).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

static int missing(const char *call) {
    const char *names = getenv("MISSING");
    return names != NULL && strstr(names, call) != NULL;
}

static int fail(int number) {
    errno = number;
    return -1;
}

int flock(int file, int operation) {
    if (missing("flock-lustre")) return fail(ENOSYS);
    if (missing("flock-nfs")) return fail(ENOLCK);
    int (*real)(int, int) = dlsym(RTLD_NEXT, "flock");
    return real(file, operation);
}

int link(const char *from, const char *to) {
    if (missing("link")) return fail(EPERM);
    int (*real)(const char *, const char *) = dlsym(RTLD_NEXT, "link");
    return real(from, to);
}

int linkat(int directory, const char *from, int other, const char *to, int flags) {
    if (missing("link")) return fail(EPERM);
    int (*real)(int, const char *, int, const char *, int) = dlsym(RTLD_NEXT, "linkat");
    return real(directory, from, other, to, flags);
}

int renameat2(int directory, const char *from, int other, const char *to, unsigned flags) {
    if (missing("exchange")) return fail(EINVAL);
    int (*real)(int, const char *, int, const char *, unsigned) = dlsym(RTLD_NEXT, "renameat2");
    return real(directory, from, other, to, flags);
}

int posix_fallocate(int file, off_t begin, off_t length) {
    if (missing("fallocate")) return EOPNOTSUPP;
    int (*real)(int, off_t, off_t) = dlsym(RTLD_NEXT, "posix_fallocate");
    return real(file, begin, length);
}

int posix_fallocate64(int file, off_t begin, off_t length) {
    return posix_fallocate(file, begin, length);
}

int fsync(int file) {
    struct stat status;
    if (missing("sync-directory") && fstat(file, &status) == 0 && S_ISDIR(status.st_mode))
        return fail(EINVAL);
    int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
    return real(file);
}
