// One suite for every kind of device: what style and measuring rely on. The kind says which
// programs are run on it; whoever has a kind of device instantiates the suite for it.
#pragma once

#include <gtest/gtest.h>
#include <algorithm>

#include "agent/device/registry.h"
#include "tests/support/candidates/candidates.h"

namespace fettle::agent {

double counted_float(const std::uint8_t* element);  // NaN: never written

struct ConformingKind {
  const char* name;
  wire::DeviceKind kind;
  bool computes;             // false: what it cannot do is not asked
  std::string (*missing)();  // why it cannot be tried here; "": it can
  // Programs of buffers 0, input, and 1, output, of `elements` elements of 4 bytes, and what else
  // they need, in that kind's images:
  //   kGood         the output is twice the input
  //   kCount        each of the first `extent` outputs is one more than before, or 1; a multiple
  //                 of `grain`, or all
  //   kSlow         as kGood, after a million steps or more
  //   kWriteBehind  as kGood, and writes behind the output
  // All have the same image: a launch of one program can be put into another.
  wire::ProgramT (*program)(CandidateKind candidate, std::uint32_t extent);
  Bytes (*answer)();  // what kGood computes
  // Of one whose workers are executed, or that reads copies: what they do for it; and its settings.
  const WorkerRow* worker = nullptr;
  std::map<std::string, std::string> settings = {};
  std::uint32_t elements = kElements, grain = 1;
  double (*counted)(const std::uint8_t* element) = counted_float;  // by kCount; 0: never written
  ByteView (*blob)(const wire::Hash&) = nullptr;  // what its programs name by hash; null: nothing
  bool verifies = false;  // what would write where it must not is refused before it runs
};

class Conformance : public ::testing::TestWithParam<ConformingKind> {
 protected:
  void SetUp() override;
  wire::ProgramT program_of(CandidateKind candidate) const {
    return GetParam().program(candidate, GetParam().elements);
  }
  // Of that many elements, or a few more.
  wire::ProgramT counting(std::uint32_t extent) const {
    return GetParam().program(kCount, whole(extent));
  }
  std::uint32_t whole(std::uint32_t extent) const {
    const std::uint32_t grain = GetParam().grain;
    return std::min((extent + grain - 1) / grain * grain, GetParam().elements);
  }
  Result<std::uint64_t> prepare(const wire::ProgramT& program, std::uint32_t threads = 1);
  Bytes bytes_of(std::uint32_t buffer);
  // How often each element of the output was counted.
  std::vector<double> counts();
  std::uint32_t threads() const;

  Bytes blob;
  std::unique_ptr<Device> device;
};

}  // namespace fettle::agent
