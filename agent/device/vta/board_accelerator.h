// A core in a board's programmable logic as an accelerator, by way of the FPGA helper
// (agent/fpga/fpga_helper.h).
#pragma once

#include "agent/fpga/helper_protocol.h"
#include "runtime/vta/accelerator.h"

namespace fettle::agent {

class FpgaAccelerator final : public runtime::Accelerator {
 public:
  // Of the helper at `address`, what its configuration has under `key`. The helper's Errors:
  // programming, what was found then, the memory.
  static Result<std::unique_ptr<FpgaAccelerator>> open(const vta::Design& design,
                                                       const std::string& address,
                                                       const std::string& key);
  ~FpgaAccelerator() override;
  FpgaAccelerator(const FpgaAccelerator&) = delete;

  const vta::Design& design() const override { return design_; }
  const runtime::ContiguousMemory& memory() const override { return memory_; }
  // Memory refreshes, and others use it, too.
  bool exact() const override { return false; }
  Result<std::uint64_t> run(std::uint64_t address, std::uint32_t count,
                            std::uint64_t limit) override;
  bool lost() const override { return lost_; }
  const wire::Hash& bitstream() const { return bitstream_; }  // what is loaded

 private:
  FpgaAccelerator(const vta::Design& design, OwnedFd socket)
      : design_(design), socket_(std::move(socket)) {}

  vta::Design design_;
  OwnedFd socket_;
  runtime::ContiguousMemory memory_;
  wire::Hash bitstream_;
  bool lost_ = false;  // the helper is gone
};

}  // namespace fettle::agent
