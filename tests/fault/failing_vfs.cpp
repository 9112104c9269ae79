// A shim over SQLite's default VFS (sqlite.org/vfs.html, "VFS shims").
#include "tests/fault/failing_vfs.h"

#include <signal.h>
#include <sqlite3.h>
#include <unistd.h>

namespace fettle::records::test {
namespace {

int calls = 0, fail_at = 0, fail_code = 0;
bool fail_for_good = false, kill_there = false;

// True: this call is to fail.
bool fault() {
  if (fail_at == 0) return false;
  ++calls;
  if (kill_there && calls == fail_at) ::kill(::getpid(), SIGKILL);
  return calls == fail_at || (fail_for_good && calls > fail_at);
}

struct File {
  sqlite3_file base;
  sqlite3_file* real;  // behind this struct, in the same allocation
};
sqlite3_file* real(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real; }
const sqlite3_io_methods* of(sqlite3_file* file) { return real(file)->pMethods; }

int close(sqlite3_file* f) { return of(f)->xClose(real(f)); }
int read(sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
  return of(f)->xRead(real(f), to, n, at);
}
int write(sqlite3_file* f, const void* from, int n, sqlite3_int64 at) {
  if (kill_there && calls + 1 == fail_at && n > 1) {
    (void)of(f)->xWrite(real(f), from, n / 2, at);  // it ends in the middle of this one
  }
  if (!fault()) return of(f)->xWrite(real(f), from, n, at);
  if (n > 1) (void)of(f)->xWrite(real(f), from, n / 2, at);  // as a full disk does it
  return fail_code;
}
int truncate(sqlite3_file* f, sqlite3_int64 size) {
  return fault() ? SQLITE_IOERR_TRUNCATE : of(f)->xTruncate(real(f), size);
}
// Nobody cuts the power in these tests: no flush of a real disk, which is slow.
int sync(sqlite3_file*, int) { return fault() ? SQLITE_IOERR_FSYNC : SQLITE_OK; }
int file_size(sqlite3_file* f, sqlite3_int64* size) { return of(f)->xFileSize(real(f), size); }
int lock(sqlite3_file* f, int level) { return of(f)->xLock(real(f), level); }
int unlock(sqlite3_file* f, int level) { return of(f)->xUnlock(real(f), level); }
int check_lock(sqlite3_file* f, int* out) { return of(f)->xCheckReservedLock(real(f), out); }
int control(sqlite3_file* f, int op, void* arg) { return of(f)->xFileControl(real(f), op, arg); }
int sector_size(sqlite3_file* f) { return of(f)->xSectorSize(real(f)); }
int characteristics(sqlite3_file* f) { return of(f)->xDeviceCharacteristics(real(f)); }
int shm_map(sqlite3_file* f, int region, int size, int extend, void volatile** out) {
  return extend != 0 && fault() ? SQLITE_IOERR_SHMSIZE
                                : of(f)->xShmMap(real(f), region, size, extend, out);
}
int shm_lock(sqlite3_file* f, int at, int n, int flags) {
  return of(f)->xShmLock(real(f), at, n, flags);
}
void shm_barrier(sqlite3_file* f) { of(f)->xShmBarrier(real(f)); }
int shm_unmap(sqlite3_file* f, int remove) { return of(f)->xShmUnmap(real(f), remove); }

// Version 2: with shared memory, without memory-mapped reads.
const sqlite3_io_methods kMethods = {
    2,         close,      read,    write,       truncate,        sync,    file_size, lock,
    unlock,    check_lock, control, sector_size, characteristics, shm_map, shm_lock,  shm_barrier,
    shm_unmap, nullptr,    nullptr};

sqlite3_vfs* original = nullptr;

int open(sqlite3_vfs*, const char* name, sqlite3_file* f, int flags, int* out_flags) {
  auto* file = reinterpret_cast<File*>(f);
  file->real = reinterpret_cast<sqlite3_file*>(file + 1);
  file->base.pMethods = nullptr;
  if ((flags & SQLITE_OPEN_CREATE) != 0 && fault()) return SQLITE_CANTOPEN;
  const int code = original->xOpen(original, name, file->real, flags, out_flags);
  if (file->real->pMethods != nullptr) file->base.pMethods = &kMethods;
  return code;
}

int remove(sqlite3_vfs*, const char* name, int sync_folder) {
  return fault() ? SQLITE_IOERR_DELETE : original->xDelete(original, name, sync_folder);
}

}  // namespace

void install_failing_vfs() {
  if (original != nullptr) return;
  original = sqlite3_vfs_find(nullptr);
  static sqlite3_vfs shim;
  shim = *original;
  shim.zName = "failing";
  shim.szOsFile = static_cast<int>(sizeof(File)) + original->szOsFile;
  shim.xOpen = open;
  shim.xDelete = remove;
  sqlite3_vfs_register(&shim, 1);
}

void arm(int nth, int code, bool for_good) {
  calls = 0;
  fail_at = nth;
  fail_code = code;
  fail_for_good = for_good;
}

void arm_kill(int nth) {
  arm(nth, 0, false);
  kill_there = true;
}

int disarm() {
  fail_at = 0;
  kill_there = false;
  return calls;
}

}  // namespace fettle::records::test
