// A loop device on a file, for as long as the object lives.
#pragma once

#include <string>

#include "tests/support/running_program.h"

namespace fettle::testing {

class LoopDevice {
 public:
  explicit LoopDevice(const std::string& file) {
    const auto attached = run_program({"losetup", "--find", "--show", file});
    if (attached.status == 0) path_ = attached.out.substr(0, attached.out.find('\n'));
    why_not_ = attached.err;
  }
  LoopDevice(const LoopDevice&) = delete;
  LoopDevice& operator=(const LoopDevice&) = delete;
  ~LoopDevice() {
    if (!path_.empty()) run_program({"losetup", "--detach", path_});
  }
  const std::string& path() const { return path_; }  // empty: there is none here
  const std::string& why_not() const { return why_not_; }

 private:
  std::string path_, why_not_;
};

}  // namespace fettle::testing
