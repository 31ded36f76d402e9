/* disk_recorder: a library for LD_PRELOAD. Records what a program, and those that it starts, do to the files
 * of one folder, with the order and the contents; disk.py builds from that what a disk could hold after a
 * power cut.
 *
 *   TW_DISK          the folder: an absolute path without symbolic links
 *   TW_DISK_JOURNAL  the file of the records, which must exist, on the same file system
 *
 * All processes append to the journal, one at a time. Syncs are recorded and do nothing else: no test here
 * cuts the power of the true disk. Calls that the C library makes for itself, such as those of fwrite, are
 * not seen. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* The C library's own function. */
#define TRUE(name) __extension__((__typeof__(&(name)))true_function(#name))

/* What disk.py reads: this, then the name or names, then the data. */
struct record {
    uint32_t what, name_size, data_size, unused;
    uint64_t inode;
    int64_t offset; /* of a write; otherwise the new size */
    int64_t boot;   /* ns of CLOCK_BOOTTIME */
};

static char folder[PATH_MAX];
static size_t folder_size;
static dev_t device;
static int journal = -1;
static pthread_mutex_t threads = PTHREAD_MUTEX_INITIALIZER;

static void *true_function(const char *name) {
    void *const found = dlsym(RTLD_NEXT, name);
    if (found == NULL)
        abort();
    return found;
}

__attribute__((constructor)) static void begin(void) {
    const char *const of = getenv("TW_DISK"), *const path = getenv("TW_DISK_JOURNAL");
    struct stat is;
    if (of == NULL || path == NULL || stat(of, &is) != 0)
        return;
    device = is.st_dev;
    folder_size = (size_t)snprintf(folder, sizeof folder, "%s/", of);
    const int low = TRUE(open)(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    journal = fcntl(low, F_DUPFD_CLOEXEC, 500); /* programs give the low numbers a meaning */
    close(low);
    if (journal < 0)
        abort();
}

/* --- one at a time ------------------------------------------------------------------------ */

/* Begins an operation and its record. A signal handler must not come between, because it may write, too.
 * Returns the signals that end_turn lets through again. */
static sigset_t take_turn(void) {
    sigset_t all, before;
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_mutex_lock(&threads);
    while (fcntl(journal, F_SETLKW, &whole) != 0)
        if (errno != EINTR)
            abort();
    return before;
}

static void end_turn(const sigset_t *before) {
    const int error = errno;
    struct flock whole = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    fcntl(journal, F_SETLK, &whole);
    pthread_mutex_unlock(&threads);
    pthread_sigmask(SIG_SETMASK, before, NULL);
    errno = error;
}

static void note_parts(char what, uint64_t inode, int64_t offset, const char *names, size_t names_size,
                       const struct iovec *data, int parts, size_t data_size) {
    struct timespec now;
    struct iovec all[2 + 64];
    clock_gettime(CLOCK_BOOTTIME, &now);
    struct record head = {(unsigned char)what,
                          (uint32_t)names_size,
                          (uint32_t)data_size,
                          0,
                          inode,
                          offset,
                          now.tv_sec * INT64_C(1000000000) + now.tv_nsec};
    int count = 2;
    if (parts > 64)
        abort();
    all[0] = (struct iovec){&head, sizeof head};
    all[1] = (struct iovec){(void *)names, names_size};
    for (size_t left = data_size; left != 0 && parts != 0; ++data, --parts) {
        const size_t size = data->iov_len < left ? data->iov_len : left;
        all[count++] = (struct iovec){data->iov_base, size};
        left -= size;
    }
    if (TRUE(writev)(journal, all, count) != (ssize_t)(sizeof head + names_size + data_size))
        abort();
}

static void note(char what, uint64_t inode, int64_t offset, const char *names, size_t names_size) {
    note_parts(what, inode, offset, names, names_size, NULL, 0, 0);
}

/* --- which files -------------------------------------------------------------------------- */

/* True for a file on the device of the folder. disk.py ignores those that are not in the folder. */
static int is_recorded(int file, struct stat *is) {
    const int error = errno;
    const int recorded = journal >= 0 && file != journal && fstat(file, is) == 0 && is->st_dev == device &&
                         (S_ISREG(is->st_mode) || S_ISDIR(is->st_mode));
    errno = error;
    return recorded;
}

/* Makes a path absolute: the true path of its folder, and its last part. Returns its size, or 0 if it is not
 * in the recorded folder. */
static size_t resolve(const char *path, char whole[PATH_MAX]) {
    char place[PATH_MAX];
    const int error = errno;
    const char *const slash = strrchr(path, '/'), *const last = slash != NULL ? slash + 1 : path;
    size_t size = 0;
    whole[0] = 0;
    snprintf(place, sizeof place, "%.*s", (int)(last - path), path);
    if (journal >= 0 && realpath(slash != NULL ? place : ".", whole) != NULL) {
        size = strlen(whole);
        size += (size_t)snprintf(whole + size, PATH_MAX - size, "/%s", last);
    }
    errno = error;
    return size < PATH_MAX && strncmp(whole, folder, folder_size) == 0 ? size : 0;
}

/* --- contents ----------------------------------------------------------------------------- */

static ssize_t noted_write(const struct stat *is, int64_t offset, const struct iovec *data, int parts,
                           ssize_t done) {
    if (done > 0)
        note_parts('w', is->st_ino, offset, NULL, 0, data, parts, (size_t)done);
    return done;
}

/* The offset at which the next write without an offset begins. */
static int64_t offset_of(int file) {
    struct stat is;
    if ((fcntl(file, F_GETFL) & O_APPEND) != 0 && fstat(file, &is) == 0)
        return is.st_size;
    return lseek(file, 0, SEEK_CUR);
}

ssize_t writev(int file, const struct iovec *data, int parts) {
    struct stat is;
    if (!is_recorded(file, &is))
        return TRUE(writev)(file, data, parts);
    const sigset_t before = take_turn();
    const int64_t offset = offset_of(file);
    const ssize_t done = noted_write(&is, offset, data, parts, TRUE(writev)(file, data, parts));
    end_turn(&before);
    return done;
}

ssize_t write(int file, const void *data, size_t size) {
    struct stat is;
    const struct iovec whole = {(void *)data, size};
    if (!is_recorded(file, &is))
        return TRUE(write)(file, data, size);
    return writev(file, &whole, 1);
}

ssize_t pwritev(int file, const struct iovec *data, int parts, off_t offset) {
    struct stat is;
    if (!is_recorded(file, &is))
        return TRUE(pwritev)(file, data, parts, offset);
    const sigset_t before = take_turn();
    const ssize_t done = noted_write(&is, offset, data, parts, TRUE(pwritev)(file, data, parts, offset));
    end_turn(&before);
    return done;
}

ssize_t pwrite(int file, const void *data, size_t size, off_t offset) {
    const struct iovec whole = {(void *)data, size};
    return pwritev(file, &whole, 1, offset);
}

static int noted_size(char what, int file, off_t size, int result) {
    struct stat is;
    if (result == 0 && is_recorded(file, &is))
        note(what, is.st_ino, size, NULL, 0);
    return result;
}

int ftruncate(int file, off_t size) {
    if (journal < 0)
        return TRUE(ftruncate)(file, size);
    const sigset_t before = take_turn();
    const int result = noted_size('t', file, size, TRUE(ftruncate)(file, size));
    end_turn(&before);
    return result;
}

int truncate(const char *path, off_t size) {
    if (journal < 0)
        return TRUE(truncate)(path, size);
    const int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    const int result = ftruncate(file, size);
    close(file);
    return result;
}

int posix_fallocate(int file, off_t offset, off_t size) {
    if (journal < 0)
        return TRUE(posix_fallocate)(file, offset, size);
    const sigset_t before = take_turn();
    const int result = noted_size('e', file, offset + size, TRUE(posix_fallocate)(file, offset, size));
    end_turn(&before);
    return result;
}

/* --- syncs -------------------------------------------------------------------------------- */

int fsync(int file) {
    struct stat is;
    if (!is_recorded(file, &is))
        return TRUE(fsync)(file);
    char link[64], path[PATH_MAX];
    ssize_t size = 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    if (S_ISDIR(is.st_mode))
        size = readlink(link, path, sizeof path);
    const sigset_t before = take_turn();
    note(S_ISDIR(is.st_mode) ? 'd' : 's', is.st_ino, 0, path, size < 0 ? 0 : (size_t)size);
    end_turn(&before);
    return 0;
}

int fdatasync(int file) { return fsync(file); }

static void note_sync_of_all(void) {
    const sigset_t before = take_turn();
    note('a', 0, 0, NULL, 0);
    end_turn(&before);
}

void sync(void) {
    if (journal >= 0)
        note_sync_of_all();
}

int syncfs(int file) {
    if (journal < 0)
        return TRUE(syncfs)(file);
    note_sync_of_all();
    return 0;
}

/* --- names -------------------------------------------------------------------------------- */

/* Records that a file is new, or was cut to size 0. */
int open(const char *path, int flags, ...) {
    char whole[PATH_MAX];
    struct stat former, is;
    va_list more;
    va_start(more, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    const size_t size = (flags & (O_CREAT | O_TRUNC)) != 0 ? resolve(path, whole) : 0;
    if (size == 0)
        return TRUE(open)(path, flags, mode);
    const sigset_t before = take_turn();
    const int existed = stat(path, &former) == 0;
    const int file = TRUE(open)(path, flags, mode);
    if (file >= 0 && fstat(file, &is) == 0) {
        if (!existed)
            note('c', is.st_ino, 0, whole, size);
        else if ((flags & O_TRUNC) != 0)
            note('t', is.st_ino, 0, NULL, 0);
    }
    end_turn(&before);
    return file;
}

/* Records names that a call has changed; `to` may be null. */
static int noted_names(char what, const char *from, const char *to, int (*one)(const char *),
                       int (*two)(const char *, const char *)) {
    char names[2 * PATH_MAX];
    size_t size = resolve(from, names);
    if (size != 0 && to != NULL) {
        const size_t other = resolve(to, names + size + 1);
        size = other != 0 ? size + 1 + other : 0;
    }
    if (size == 0)
        return to != NULL ? two(from, to) : one(from);
    const sigset_t before = take_turn();
    const int result = to != NULL ? two(from, to) : one(from);
    if (result == 0)
        note(what, 0, 0, names, size);
    end_turn(&before);
    return result;
}

int unlink(const char *path) { return noted_names('u', path, NULL, TRUE(unlink), NULL); }
int remove(const char *path) { return noted_names('u', path, NULL, TRUE(remove), NULL); }
int rmdir(const char *path) { return noted_names('u', path, NULL, TRUE(rmdir), NULL); }
int rename(const char *from, const char *to) { return noted_names('r', from, to, NULL, TRUE(rename)); }
int link(const char *from, const char *to) { return noted_names('l', from, to, NULL, TRUE(link)); }

int mkdir(const char *path, mode_t mode) {
    char whole[PATH_MAX];
    struct stat is;
    const size_t size = resolve(path, whole);
    if (size == 0)
        return TRUE(mkdir)(path, mode);
    const sigset_t before = take_turn();
    const int result = TRUE(mkdir)(path, mode);
    if (result == 0 && stat(path, &is) == 0)
        note('m', is.st_ino, 0, whole, size);
    end_turn(&before);
    return result;
}

/* --- other names of the same functions ------------------------------------------------------ */

/* off_t has 64 bits here. */
_Static_assert(sizeof(off_t) == sizeof(off64_t), "off_t has less than 64 bits");
#define ALIAS(name, of) __typeof__(of) name __attribute__((alias(#of)))
ALIAS(open64, open);
ALIAS(pwrite64, pwrite);
ALIAS(pwritev64, pwritev);
ALIAS(ftruncate64, ftruncate);
ALIAS(truncate64, truncate);
ALIAS(posix_fallocate64, posix_fallocate);
