// How long each stage of a trial, and a worker's start, may take.
#pragma once

#include <cstdint>

#include "schemas/measure_generated.h"

namespace fettle {

// Deadlines of one trial, nanoseconds of CLOCK_MONOTONIC; its run time has the request's own
// limit. Loading fills and packs, checking compares: bounded by memory speed, so these are
// generous even for an emulated board.
struct StageLimits {
  std::uint64_t load_ns = 60'000'000'000, check_ns = 60'000'000'000;
  std::uint64_t open_ns = 60'000'000'000;  // a worker's, until it is ready: drivers take seconds
  std::uint64_t end_ns = 10'000'000'000;   // from its kill to its end, which a driver may hold up
  std::uint64_t blob_ns = 30'000'000'000;  // until its blobs are there and could be passed
  // Of the whole trial only, per sample and once: flushing the caches (all threads read up to
  // 128 MiB), readings, and the wait for a throttled core (sampler.h).
  std::uint64_t between_samples_ns = 2'000'000'000, spare_ns = 120'000'000'000;

  // More than all stages can take together within their limits. The supervisor's own clock
  // holds the worker to it, since a candidate can write the page that tells of the stages; and
  // the broker's holds the board to it, which may be anyone's.
  std::uint64_t whole_trial_ns(const wire::MeasureOptionsT& options) const;
};

}  // namespace fettle
