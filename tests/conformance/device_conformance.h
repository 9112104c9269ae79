// One suite for every kind of device: what style and measuring rely on. The kind says which
// programs are run on it; whoever has a kind of device instantiates the suite for it.
#pragma once

#include <gtest/gtest.h>

#include "agent/device/registry.h"
#include "tests/support/candidates/candidates.h"

namespace fettle::agent {

struct ConformingKind {
  const char* name;
  wire::DeviceKind kind;
  bool computes;             // false: what it cannot do is not asked
  std::string (*missing)();  // why it cannot be tried here; "": it can
  // Programs of buffers 0, input, and 1, output, of kElements floats, in that kind's images:
  //   kGood         the output is twice the input
  //   kCount        each of the first `extent` outputs is one more than before, or 1
  //   kSlow         as kGood, after a million steps or more
  //   kWriteBehind  as kGood, and writes behind the output
  // All have the same image: a launch of one program can be put into another.
  wire::ProgramT (*program)(CandidateKind candidate, std::uint32_t extent);
  Bytes (*answer)();  // what kGood computes
  // Of one whose workers are executed: what their program does for it, and its settings.
  const WorkerRow* worker = nullptr;
  std::map<std::string, std::string> settings = {};
};

class Conformance : public testing::TestWithParam<ConformingKind> {
 protected:
  void SetUp() override;
  wire::ProgramT program_of(CandidateKind candidate, std::uint32_t extent = kElements) const {
    return GetParam().program(candidate, extent);
  }
  Result<std::uint64_t> prepare(const wire::ProgramT& program, std::uint32_t threads = 1);
  std::vector<float> output(std::uint32_t buffer = 1);
  std::uint32_t threads() const;

  Bytes blob;
  std::unique_ptr<Device> device;
};

}  // namespace fettle::agent
