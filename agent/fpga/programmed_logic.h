// The programmable logic with a wanted bitstream in it: checked before it is touched, programmed
// when something else is loaded, asked afterwards.
#pragma once

#include <optional>
#include <string>

#include "agent/fpga/fpga_manager.h"
#include "agent/fpga/vta_registers.h"
#include "fpga/bitstream/bitstream.h"

namespace fettle::agent {

struct WantedLogic {
  vta::Design design;
  std::string file;  // its bitstream
};

// What a file is, when it fits.
struct CheckedBitstream {
  wire::Hash hash;  // of its configuration data
  Bytes bin;        // as FpgaManager takes it
};
// Nothing is touched. NotFound: no such file; Malformed: no bitstream, or a truncated one;
// WrongConfiguration: for another die or another design, as far as it says; Unsupported.
Result<CheckedBitstream> check_bitstream(const SystemRoot& root, const WantedLogic& wanted);

class ProgrammedLogic {
 public:
  // With `bitstream`, which is wanted.file's. NotFound where the system has no fpga_manager; Io
  // where it cannot be programmed; WrongConfiguration when what runs then is no core of the design.
  static Result<ProgrammedLogic> open(const SystemRoot& root, WantedLogic wanted,
                                      const CheckedBitstream& bitstream,
                                      MapRegisters map = map_registers);

  const wire::Hash& hash() const { return hash_; }
  const WantedLogic& wanted() const { return wanted_; }
  std::uint32_t programmings() const { return programmings_; }  // by this object

  // As VtaRegisters::run(). After an error the next run finds a core that works, or says why none
  // is there: it was stopped or, if it must be, programmed again; the error says which.
  Result<std::uint64_t> run(std::uint32_t address, std::uint32_t count, std::uint64_t limit,
                            const VtaRegisters::Watch& watch);

 private:
  ProgrammedLogic(const SystemRoot& root, WantedLogic wanted, FpgaManager manager, MapRegisters map)
      : root_(root),
        wanted_(std::move(wanted)),
        manager_(std::move(manager)),
        map_(std::move(map)) {}
  Result<void> program(const CheckedBitstream& bitstream);
  Result<void> find_core();
  Error recovered(Error error);

  SystemRoot root_;
  WantedLogic wanted_;
  FpgaManager manager_;
  MapRegisters map_;
  wire::Hash hash_;
  std::uint32_t programmings_ = 0;
  std::optional<VtaRegisters> registers_;  // none: it must be programmed first
};

}  // namespace fettle::agent
