// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/jobs/faulty_disk.hpp"

#include <sqlite3.h>

namespace genv::jobs::tests {

namespace {

FaultyDisk* theDisk = nullptr;
sqlite3_vfs* realVfs = nullptr;

/// A file in SQLite's layout: its methods, and behind them the file of the real VFS.
struct File {
    sqlite3_file base;

    sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

sqlite3_file* real(sqlite3_file* file) {
    return reinterpret_cast<File*>(file)->real();
}

// Reads and locks are those of the real VFS.
int close(sqlite3_file* file) {
    return real(file)->pMethods->xClose(real(file));
}
int read(sqlite3_file* file, void* data, int size, sqlite3_int64 offset) {
    return real(file)->pMethods->xRead(real(file), data, size, offset);
}
int fileSize(sqlite3_file* file, sqlite3_int64* size) {
    return real(file)->pMethods->xFileSize(real(file), size);
}
int lock(sqlite3_file* file, int level) {
    return real(file)->pMethods->xLock(real(file), level);
}
int unlock(sqlite3_file* file, int level) {
    return real(file)->pMethods->xUnlock(real(file), level);
}
int checkReservedLock(sqlite3_file* file, int* result) {
    return real(file)->pMethods->xCheckReservedLock(real(file), result);
}
int fileControl(sqlite3_file* file, int operation, void* argument) {
    return real(file)->pMethods->xFileControl(real(file), operation, argument);
}
int sectorSize(sqlite3_file* file) {
    return real(file)->pMethods->xSectorSize(real(file));
}
int characteristics(sqlite3_file* file) {
    return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

// Changes may fail. A write that fails has written its first half.
int write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
    const int result = theDisk->change(false);
    const int written = real(file)->pMethods->xWrite(real(file), data,
                                                     result == SQLITE_OK ? size : size / 2, offset);
    return result == SQLITE_OK ? written : result;
}
int truncate(sqlite3_file* file, sqlite3_int64 size) {
    const int result = theDisk->change(false);
    return result == SQLITE_OK ? real(file)->pMethods->xTruncate(real(file), size) : result;
}
int sync(sqlite3_file*, int) {
    return theDisk->change(true); // no test cuts the power
}

// Version 1 has neither shared memory nor mapped files.
constexpr sqlite3_io_methods methods{1,
                                     close,
                                     read,
                                     write,
                                     truncate,
                                     sync,
                                     fileSize,
                                     lock,
                                     unlock,
                                     checkReservedLock,
                                     fileControl,
                                     sectorSize,
                                     characteristics,
                                     nullptr,
                                     nullptr,
                                     nullptr,
                                     nullptr,
                                     nullptr,
                                     nullptr};

int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* outFlags) {
    const int result = realVfs->xOpen(realVfs, name, real(file), flags, outFlags);
    file->pMethods = real(file)->pMethods == nullptr ? nullptr : &methods;
    return result;
}
int remove(sqlite3_vfs*, const char* name, int syncFolder) {
    const int result = theDisk->change(false);
    return result == SQLITE_OK ? realVfs->xDelete(realVfs, name, syncFolder) : result;
}

sqlite3_vfs makeVfs() {
    realVfs = sqlite3_vfs_find(nullptr);
    sqlite3_vfs vfs = *realVfs;
    vfs.szOsFile += static_cast<int>(sizeof(File));
    vfs.zName = "faulty";
    vfs.xOpen = open;
    vfs.xDelete = remove;
    return vfs;
}

sqlite3_vfs* faultyVfs() {
    static sqlite3_vfs vfs = makeVfs();
    return &vfs;
}

} // namespace

FaultyDisk::FaultyDisk() {
    theDisk = this;
    sqlite3_vfs_register(faultyVfs(), 1);
}

FaultyDisk::~FaultyDisk() {
    sqlite3_vfs_unregister(faultyVfs());
    theDisk = nullptr;
}

void FaultyDisk::failAfter(std::size_t changes, Fault fault, bool forGood) {
    left_ = changes;
    fault_ = fault;
    isForGood_ = forGood;
    hasFailed_ = false;
}

void FaultyDisk::repair() {
    left_.reset();
}

int FaultyDisk::change(bool isSync) {
    ++changes_;
    syncs_ += isSync ? 1U : 0U;
    if (!left_)
        return SQLITE_OK;
    if (*left_ > 0) {
        --*left_;
        return SQLITE_OK;
    }
    hasFailed_ = true;
    if (!isForGood_)
        repair();
    if (isSync)
        return SQLITE_IOERR_FSYNC;
    return fault_ == Fault::Full ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}

} // namespace genv::jobs::tests
