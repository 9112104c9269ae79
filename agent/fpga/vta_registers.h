// Driving a VTA core by its registers (fpga/config/register_map.h), whosesoever it is.
#pragma once

#include <functional>

#include "agent/fpga/registers.h"
#include "fpga/config/design.h"
#include "fpga/config/register_map.h"

namespace fettle::agent {

class VtaRegisters {
 public:
  VtaRegisters(const vta::Design& design, std::unique_ptr<Registers> registers);

  // WrongConfiguration unless the core says that it is one of ours and of this design. A core that
  // says nothing of itself is taken at its bitstream's word.
  Result<void> identify() const;

  // Asked every ten milliseconds while a stream runs; an Error of it ends the run.
  using Watch = std::function<Result<void>()>;
  // Runs the `count` instructions at the physical `address`: its cycles, or nanoseconds where the
  // core counts none.
  //   RunTimeout  not done after as long as `limit` cycles of the design's clock take
  //   DeviceLost  the core was reset meanwhile
  //   Internal    the core says that it met an error
  // After any of them the core may still be at it: stop().
  Result<std::uint64_t> run(std::uint32_t address, std::uint32_t count, std::uint64_t limit,
                            const Watch& watch);
  // Ends a stream; false when the core cannot do that, or does not.
  bool stop();

 private:
  bool holds(const vta::RegisterTest& test) const {
    return (registers_->read(test.offset) & test.mask) == test.value;
  }
  Result<void> check_health() const;
  Result<void> wait(std::uint64_t limit, const Watch& watch);
  Result<std::uint64_t> cycles() const;

  vta::Design design_;
  const vta::RegisterMap& map_;
  std::unique_ptr<Registers> registers_;
};

}  // namespace fettle::agent
