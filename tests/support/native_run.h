// Runs a CPU program in this process, as an agent's worker would, without its guards.
#pragma once

#include <cstdint>
#include <vector>

#include "host/space/cpu_target.h"
#include "schemas/program_generated.h"
#include "schemas/wire/result.h"

namespace fettle::testing {

// This machine as a target: cpu, features and vector width as LLVM names them.
space::CpuTarget native_target();
// Cortex-A72 and Cortex-A9 (no FMA), for code that is emulated or only looked at.
space::CpuTarget aarch64_target();
space::CpuTarget armv7_target();

using BufferBytes = std::vector<std::vector<std::uint8_t>>;

// What each buffer of the program holds before its first launch; outputs hold NaNs (0xFF).
Result<BufferBytes> filled_buffers(const wire::ProgramT& program);

// A loaded image and the memory of its program's buffers.
class NativeProgram {
 public:
  static Result<NativeProgram> load(const wire::ProgramT& program);
  NativeProgram(NativeProgram&& other) noexcept;
  ~NativeProgram();

  // Buffers lie at their alignment, followed by a guard that damaged() looks at.
  std::uint8_t* buffer(std::size_t index) { return buffers_[index]; }
  std::vector<std::uint8_t> contents(std::size_t index) const;
  bool damaged() const;  // a launch wrote past a buffer's end or before its begin

  // All launches of the phase, in order, each split into `threads` calls in sequence.
  void run(wire::Phase phase, int threads = 1);

 private:
  NativeProgram() = default;
  const wire::ProgramT* program_ = nullptr;
  std::vector<std::pair<void*, std::size_t>> images_;
  std::vector<std::vector<std::uint8_t>> storage_;
  std::vector<std::uint8_t*> buffers_;
};

// Loads, runs prepare and run launches once, and returns all buffers.
Result<BufferBytes> run_natively(const wire::ProgramT& program, int threads = 1);

}  // namespace fettle::testing
