// SPDX-License-Identifier: Apache-2.0
// A sparse file in memory, mapped once; a fork inherits the mapping. The address lies far from
// where the system puts programs, libraries and stacks, so that it is free in another process as
// well.
#include "arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "mote/base/error.h"

namespace mote::isolate {
namespace {

constexpr std::ptrdiff_t kKept = std::ptrdiff_t{256} << 20U;
constexpr std::uintptr_t kWanted = std::uintptr_t{0x2f} << 40U;  ///< the system may choose another
constexpr int kAccess = PROT_READ | PROT_WRITE;
constexpr int kShared = MAP_SHARED | MAP_NORESERVE;

[[noreturn]] void fail(int file) {
  const std::string reason = std::strerror(errno);
  if (file >= 0) close(file);
  throw Error("isolation: memory to share with a worker: " + reason +
              " (--in-process does without)");
}

}  // namespace

Arena::Arena() : file_(memfd_create("mote-arena", MFD_CLOEXEC)) {
  if (file_ < 0 || ftruncate(file_, off_t{kBytes}) != 0) fail(file_);
  void* mapped = mmap(reinterpret_cast<void*>(kWanted), kBytes, kAccess, kShared, file_, 0);
  if (mapped == MAP_FAILED) fail(file_);
  madvise(mapped, kBytes, MADV_DONTDUMP);
  base_ = static_cast<char*>(mapped);
}

Arena::Arena(int file, char* base) : file_(file) {
  void* mapped = mmap(base, kBytes, kAccess, kShared | MAP_FIXED_NOREPLACE, file, 0);
  if (mapped == MAP_FAILED) fail(file);
  base_ = static_cast<char*>(mapped);
  if (base_ != base) throw Error("isolation: memory to share is at another address");
}

Arena::~Arena() {
  munmap(base_, kBytes);
  close(file_);
}

std::int64_t Arena::taken() const {
  constexpr std::int64_t kBlock = 512;  // the unit of st_blocks
  struct stat status {};
  return fstat(file_, &status) == 0 ? status.st_blocks * kBlock : 0;
}

void Arena::give_back(const char* first_free) {
  if (first_free - room().data() <= kKept) return;
  const std::ptrdiff_t from = room().data() - base_ + kKept;
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, off_t{kBytes} - from);
}

}  // namespace mote::isolate
