// Reading what came from outside in bounded memory: files, pipes and lines that may never end.
// Errors name the file, the limit and what was found.
#pragma once

#include <cstdint>
#include <istream>
#include <string>

#include "schemas/wire/result.h"

namespace fettle {

// What is read whole, in bytes; each is many times the largest that is known.
inline constexpr std::uint64_t kMostTextBytes = std::uint64_t{16} << 20;  // TOML, JSON, keys, lists
inline constexpr std::uint64_t kMostLineBytes = std::uint64_t{16} << 20;  // one record
inline constexpr std::uint64_t kMostImportBytes = std::uint64_t{1} << 30;  // all lines of an import
inline constexpr std::uint64_t kMostPackageBytes = std::uint64_t{1} << 28;  // a .deb
inline constexpr std::uint64_t kMostTensorBytes = std::uint64_t{1} << 30;   // an image, .npy, .npz
inline constexpr std::uint64_t kMostImagePixels = std::uint64_t{1} << 26;   // decoded, of 3 bytes

inline constexpr std::uint64_t kMostPipeBytes = std::uint64_t{1} << 28;  // of what has no size

// All of a file, a pipe or a device. NotFound, Io; TooLarge as soon as more than `most` bytes were
// read.
Result<std::string> read_whole(const std::string& path, std::uint64_t most);

// Lines of a stream, without their ends.
class BoundedLines {
 public:
  // `name`: of the source, for errors. The stream must outlive the object.
  BoundedLines(std::istream& in, std::string name, std::uint64_t most_bytes = kMostImportBytes)
      : in_(in), name_(std::move(name)), most_(most_bytes) {}
  // False: there is none left. TooLarge for a line over kMostLineBytes, or more than
  // `most_bytes` in all; Io.
  Result<bool> next(std::string& line);
  std::size_t number() const { return number_; }  // of the last line, from 1

 private:
  std::istream& in_;
  std::string name_;
  std::uint64_t most_, read_ = 0;
  std::size_t number_ = 0;
};

}  // namespace fettle
