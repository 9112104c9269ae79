// Target: what code is made for. Common to all kinds: what the parts between back end and board
// must know. The rest is in its text, which the back end that it names writes and reads.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/wire/result.h"

namespace fettle::space {

class Target {
 public:
  // `canonical`: a JSON object with "backend"; the common part may be missing. InvalidArgument: it
  // is none, or the common part is impossible. What else it says, the back end checks when a task
  // is opened for it.
  static Result<Target> parse(const std::string& canonical);

  const std::string& backend() const { return backend_; }  // a row of host/backend/registry.cpp
  // Threads that a program may use: 1 where the kind knows no such thing.
  int threads() const { return threads_; }
  // The device's limit for one program; 0: not known.
  std::int64_t memory_bytes() const { return memory_bytes_; }

  const std::string& canonical() const { return text_; }  // JSON, keys sorted
  bool operator==(const Target& other) const { return text_ == other.text_; }

 private:
  std::string backend_;
  int threads_ = 1;
  std::int64_t memory_bytes_ = 0;
  std::string text_;
};

}  // namespace fettle::space
