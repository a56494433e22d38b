/* Functions of the C library that are newer than glibc 2.28, for the files of a wheel.
 *
 * Debian 12 links them in their newest versions, which older machines do not have. Each is defined
 * here, hidden: as a jump to its older version, or by what there was before. Where the linker finds
 * it here it does not look in the C library. cmake/wheel_check.py fails when one is missing. */

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

/* Of an architecture: the oldest versions that its C library has, those for what came later, a jump
 * to what the table of addresses has for a name, and the layouts of struct stat and of device
 * numbers in functions that ask for them. */
#if defined(__x86_64__)
#define BLK_FIRST "GLIBC_2.2.5"
#define BLK_2_12 "GLIBC_2.12"
#define BLK_JUMP(name) "  jmp *" name "@GOTPCREL(%rip)\n"
enum { kStatLayout = 1, kDeviceLayout = 0 };
#elif defined(__aarch64__)
#define BLK_FIRST "GLIBC_2.17"
#define BLK_2_12 BLK_FIRST
#define BLK_JUMP(name) "  adrp x16, :got:" name "\n  ldr x16, [x16, :got_lo12:" name "]\n  br x16\n"
enum { kStatLayout = 0, kDeviceLayout = 0 };
#else
#error "which versions are the oldest here?"
#endif

/* A function that had another version: a jump to that keeps all arguments as they are. In a section
 * of its own, so that only those stay that something calls. */
#define BLK_OLDER(name, version)                                                                   \
  __asm__(".pushsection .text." #name ", \"ax\", @progbits\n"                                      \
          ".symver blk_older_" #name ", " #name "@" version "\n"                                   \
          ".globl " #name "\n.hidden " #name "\n.type " #name ", @function\n" #name                \
          ":\n" BLK_JUMP("blk_older_" #name) ".size " #name ", . - " #name "\n.popsection\n")

/* In libraries of their own before glibc 2.34. */
BLK_OLDER(dladdr, BLK_FIRST);
BLK_OLDER(dlclose, BLK_FIRST);
BLK_OLDER(dlerror, BLK_FIRST);
BLK_OLDER(dlopen, BLK_FIRST);
BLK_OLDER(dlsym, BLK_FIRST);
BLK_OLDER(pthread_attr_setstacksize, BLK_FIRST);
BLK_OLDER(pthread_create, BLK_FIRST);
BLK_OLDER(pthread_detach, BLK_FIRST);
BLK_OLDER(pthread_getname_np, BLK_2_12);
BLK_OLDER(pthread_getspecific, BLK_FIRST);
BLK_OLDER(pthread_join, BLK_FIRST);
BLK_OLDER(pthread_key_create, BLK_FIRST);
BLK_OLDER(pthread_key_delete, BLK_FIRST);
BLK_OLDER(pthread_once, BLK_FIRST);
BLK_OLDER(pthread_rwlock_rdlock, BLK_FIRST);
BLK_OLDER(pthread_rwlock_unlock, BLK_FIRST);
BLK_OLDER(pthread_rwlock_wrlock, BLK_FIRST);
BLK_OLDER(pthread_setname_np, BLK_2_12);
BLK_OLDER(pthread_setspecific, BLK_FIRST);
BLK_OLDER(pthread_sigmask, BLK_FIRST);
BLK_OLDER(shm_open, BLK_FIRST);
BLK_OLDER(shm_unlink, BLK_FIRST);

/* The same but for what they do to errno. */
BLK_OLDER(exp, BLK_FIRST);
BLK_OLDER(exp2, BLK_FIRST);
BLK_OLDER(hypot, BLK_FIRST);
BLK_OLDER(log, BLK_FIRST);
BLK_OLDER(log2, BLK_FIRST);
BLK_OLDER(pow, BLK_FIRST);

#define BLK_OTHER_NAME(name, meant)                                                                \
  __asm__(".globl " #name "\n.hidden " #name "\n.set " #name ", " #meant "\n")
#define BLK_HIDDEN __attribute__((visibility("hidden")))

/* Inline before glibc 2.33. */
extern int __xstat(int layout, const char *path, struct stat *result);
extern int __lxstat(int layout, const char *path, struct stat *result);
extern int __fxstat(int layout, int file, struct stat *result);
extern int __fxstatat(int layout, int folder, const char *path, struct stat *result, int flags);
extern int __xmknod(int layout, const char *path, mode_t mode, dev_t *device);

BLK_HIDDEN int stat(const char *path, struct stat *result) {
  return __xstat(kStatLayout, path, result);
}
BLK_HIDDEN int lstat(const char *path, struct stat *result) {
  return __lxstat(kStatLayout, path, result);
}
BLK_HIDDEN int fstat(int file, struct stat *result) { return __fxstat(kStatLayout, file, result); }
BLK_HIDDEN int fstatat(int folder, const char *path, struct stat *result, int flags) {
  return __fxstatat(kStatLayout, folder, path, result, flags);
}
/* The same layout on 64-bit machines. */
BLK_OTHER_NAME(stat64, stat);
BLK_OTHER_NAME(lstat64, lstat);
BLK_OTHER_NAME(fstat64, fstat);
BLK_OTHER_NAME(fstatat64, fstatat);

BLK_HIDDEN int mknod(const char *path, mode_t mode, dev_t device) {
  return __xmknod(kDeviceLayout, path, mode, &device);
}

BLK_HIDDEN uint32_t arc4random(void) {
  uint32_t value;
  while (getrandom(&value, sizeof value, 0) != sizeof value)
    if (errno != EINTR)
      abort(); /* as arc4random does where there is no randomness */
  return value;
}

/* By the clock on the wall, which may be set in the meantime: then it waits longer or shorter. */
BLK_HIDDEN int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                      clockid_t clock, const struct timespec *until) {
  struct timespec now, wall, end;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &wall);
  end.tv_sec = wall.tv_sec + (until->tv_sec - now.tv_sec);
  end.tv_nsec = wall.tv_nsec + (until->tv_nsec - now.tv_nsec);
  for (; end.tv_nsec < 0; end.tv_nsec += 1000000000)
    --end.tv_sec;
  for (; end.tv_nsec >= 1000000000; end.tv_nsec -= 1000000000)
    ++end.tv_sec;
  return pthread_cond_timedwait(condition, mutex, &end);
}

/* Counts above 2 GiB are wrong on old machines. */
BLK_HIDDEN struct mallinfo2 mallinfo2(void) {
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const struct mallinfo old = mallinfo();
  return (struct mallinfo2){(unsigned)old.arena,   (unsigned)old.ordblks,  (unsigned)old.smblks,
                            (unsigned)old.hblks,   (unsigned)old.hblkhd,   (unsigned)old.usmblks,
                            (unsigned)old.fsmblks, (unsigned)old.uordblks, (unsigned)old.fordblks,
                            (unsigned)old.keepcost};
}

/* Says to libstdc++ that counters need no atomics: never. */
BLK_HIDDEN char __libc_single_threaded = 0;

/* Programs ran their constructors themselves before glibc 2.34, and newer ones run none when they
 * are given a function that does. */
typedef void Constructor(int, char **, char **);
extern Constructor *__init_array_start[], *__init_array_end[];
extern int blk_older_start(int (*)(int, char **, char **), int, char **, Constructor *,
                           void (*)(void), void (*)(void), void *);
__asm__(".symver blk_older_start, __libc_start_main@" BLK_FIRST);

static void runConstructors(int count, char **arguments, char **environment) {
  for (Constructor **each = __init_array_start; each != __init_array_end; ++each)
    (*each)(count, arguments, environment);
}

BLK_HIDDEN int __libc_start_main(int (*program)(int, char **, char **), int count, char **arguments,
                                 Constructor *unused, void (*end)(void), void (*endOfLoader)(void),
                                 void *stack) {
  (void)unused;
  return blk_older_start(program, count, arguments, runConstructors, end, endOfLoader, stack);
}
