// Linux's fpga_manager: in what state the programmable logic (PL) is, and programming it.
#pragma once

#include <string>

#include "agent/platform/system_root.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/result.h"

namespace fettle::agent {

class FpgaManager {
 public:
  // NotFound: this system has none.
  static Result<FpgaManager> find(const SystemRoot& root);

  // What the driver says, "operating" when it is programmed. In any other state registers in the
  // PL must not be touched: on a Zynq the access may never end.
  std::string state() const;
  bool operating() const { return state() == "operating"; }

  // All of the PL, with what vta::to_bin() gives. Through the files `flags` and `firmware` of
  // linux-xlnx, or by a device tree overlay where they are missing. Io, with the state, unless the
  // PL is operating then.
  Result<void> program(ByteView bin) const;

 private:
  FpgaManager(const SystemRoot& root, std::string folder)
      : root_(root), folder_(std::move(folder)) {}
  Result<void> apply_overlay() const;

  SystemRoot root_;
  std::string folder_;  // /sys/class/fpga_manager/fpga0
};

// A device tree overlay, flattened, that has the region at `target` programmed with a file of
// /lib/firmware.
Bytes firmware_overlay(const std::string& target, const std::string& file);

}  // namespace fettle::agent
