// Who runs launches: one Executor per kind of image.
#pragma once

#include <memory>
#include <span>

#include "runtime/loader.h"
#include "runtime/memory.h"

namespace fettle::runtime {

// Launches of one kind that follow one another, with their arguments bound.
class LaunchSeries {
 public:
  virtual ~LaunchSeries() = default;
  // Appends a launch of that image. Image and buffers outlive the series.
  virtual Result<void> add(const wire::LaunchT& launch, const LoadedImage& image,
                           std::span<const std::unique_ptr<BufferMemory>> buffers) = 0;
  // Runs all of them in order, `times` times; each is complete before the next. With buffers that
  // lie in memory several times, each run takes the next copy (BufferMemory::copies). What they
  // did wrong, as far as the device tells, or ticks of the executor's clock. `launch_ticks`: empty,
  // or one number per launch, to which the ticks of each are added; looking at the clock in between
  // costs a little.
  virtual Result<std::uint64_t> run(std::uint32_t times, std::span<std::uint64_t> launch_ticks) = 0;
};

class Executor {
 public:
  virtual ~Executor() = default;
  virtual std::unique_ptr<LaunchSeries> make_series() = 0;
};

}  // namespace fettle::runtime
