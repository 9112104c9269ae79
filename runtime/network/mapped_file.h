// A file's bytes in memory, read from it as they are looked at.
#pragma once

#include <string>

#include "schemas/wire/codec.h"
#include "schemas/wire/result.h"

namespace fettle::runtime {

class MappedFile {
 public:
  // NotFound, Io, OutOfMemory; Malformed: it is empty.
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  ByteView bytes() const { return {at_, bytes_}; }
  // Whole pages within `part` are not kept in this process; a look at them reads the file again.
  void forget(ByteView part) const;

 private:
  MappedFile() = default;
  std::uint8_t* at_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace fettle::runtime
