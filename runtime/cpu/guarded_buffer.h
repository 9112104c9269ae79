// One buffer of a program in a mapping of its own: inaccessible guards at both
// ends, sentinel bytes between them and the data.
//
//   guard | sentinel … | data | sentinel … | guard
//
// The data lies at the end of its pages as far as its alignment allows, so that
// an overrun hits the guard soon; what it does not hit, the sentinels show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "schemas/wire/result.h"

namespace fettle::runtime {

class GuardedBuffer {
 public:
  // OutOfMemory when the mapping is refused. The contents are zero.
  static Result<GuardedBuffer> make(std::uint64_t bytes, std::uint32_t alignment);
  // Whether the pages that it has touched have room for a buffer of other size, and are as large
  // as its pages would be.
  bool suffices(std::uint64_t bytes, std::uint32_t alignment) const;
  // Makes one of it, if so; contents stay as they are. False: the system refused, and it is to be
  // used no more.
  bool refit(std::uint64_t bytes, std::uint32_t alignment);
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer& operator=(GuardedBuffer&& other) noexcept;
  ~GuardedBuffer();

  std::span<std::uint8_t> data() const { return {data_, bytes_}; }
  std::uint32_t alignment() const { return alignment_; }
  std::size_t mapped_bytes() const { return mapping_bytes_; }
  // Data and sentinels, in pages, and what a larger buffer before had more.
  std::size_t memory_bytes() const { return static_cast<std::size_t>(end_ - touched_); }
  std::uintptr_t guard_begin() const;
  std::uintptr_t guard_end() const;

  void make_read_only();  // a write faults from now on
  bool read_only() const { return read_only_; }
  void write_sentinels();
  // "" or what is wrong: "wrote 16 bytes behind it, the first at +0". `within`: so many bytes of
  // the data on each side.
  std::string sentinel_damage(std::size_t within = SIZE_MAX) const;

 private:
  GuardedBuffer() = default;
  struct Place {
    std::uint8_t *data, *begin, *end;  // the latter two: of what is accessible
  };
  Place place(std::uint64_t bytes, std::uint32_t alignment) const;
  bool use(const Place& place, std::uint64_t bytes, std::uint32_t alignment);
  std::span<std::uint8_t> before() const;
  std::span<std::uint8_t> behind() const;

  std::uint8_t* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  std::size_t unit_ = 0;             // bytes of its pages
  std::uint8_t* touched_ = nullptr;  // pages from here on were accessible once
  std::uint8_t* accessible_ = nullptr;
  std::uint8_t* end_ = nullptr;  // of what is accessible
  std::uint8_t* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint32_t alignment_ = 0;
  bool read_only_ = false;
};

}  // namespace fettle::runtime
