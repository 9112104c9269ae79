// Device: the agent's half of a kind of device. The whole contract.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "agent/platform/driver_reading.h"
#include "schemas/device_generated.h"
#include "schemas/fill/fill.h"
#include "schemas/program_generated.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/result.h"

namespace fettle::agent {

struct Sample {
  std::uint64_t ticks = 0;
  wire::ClockDomain clock = wire::ClockDomain::Nanoseconds;
  double ticks_per_second = 1e9;  // 0 when the clock is not time
  // Of each Run launch, over all runs together; empty: not asked for, or not known here.
  std::vector<std::uint64_t> launch_ticks = {};
};

struct PrepareOptions {
  std::uint32_t threads = 1;  // CPU: threads that share each launch
  // MeasureOptions.weights_bytes. Unsupported where the device does not keep copies.
  std::uint64_t weights_bytes = 0;
};

// Not thread-safe. A call may end the process: a candidate's fault is a death of
// the worker, which the supervisor turns into a Failure.
class Device {
 public:
  virtual ~Device() = default;
  virtual const wire::DeviceInfoT& info() const = 0;
  // Allocates, fills, loads and binds everything the program names, and runs its
  // Prepare launches; returns the nanoseconds spent in those. The program was
  // checked (check_program); blobs stay valid until it ends. Ends the one before.
  virtual Result<std::uint64_t> prepare(const wire::ProgramT& program,
                                        const PrepareOptions& options, const BlobLookup& blobs) = 0;
  // Runs all Run launches in order, `times` times; one sample of the device's own clock.
  // With launch_ticks it also tells what each launch took, if it can.
  virtual Result<Sample> run(std::uint32_t times, bool launch_ticks) = 0;
  Result<Sample> run(std::uint32_t times) { return run(times, false); }
  // Outputs hold unwritten_byte again, each byte of them, as before the first run. Not those that a
  // Prepare launch is given: no run need write them again.
  virtual Result<void> poison_outputs() = 0;
  // What the buffer holds now; valid until the next run or reset. A device with
  // memory of its own copies it out here.
  virtual Result<ByteView> read(std::uint32_t buffer) = 0;
  // The byte that stands for "never written" in outputs of that type.
  virtual std::uint8_t unwritten_byte(wire::ScalarType type) const = 0;
  // StrayWrite when bytes around any buffer have changed.
  virtual Result<void> check_surroundings() = 0;
  // The same, but it may pass over what lies far off: check_surroundings() follows, at the latest
  // in reset().
  virtual Result<void> check_close_surroundings() { return check_surroundings(); }
  // What the driver tells of the device's state, before and after each sample.
  virtual DriverReading conditions() const { return {}; }
  // Evicts the caches that a run could profit from; devices without do nothing.
  virtual void flush_caches() {}
  // Whether a program takes equally many ticks each time, whatever else its machine does: a
  // simulator's cycles. One sample then tells all.
  virtual bool exact() const { return false; }
  // Ends a program: frees every buffer and kernel.
  virtual void reset() = 0;
  // Nothing can be run any more in this process: a driver that fails for good after a fault.
  virtual bool lost() const { return false; }
};

}  // namespace fettle::agent
