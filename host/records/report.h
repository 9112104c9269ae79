// Records as text for people.
#pragma once

#include <iosfwd>
#include <string>

#include "host/records/database.h"

namespace fettle::records {

// One record in full: task, configuration, every sample, conditions, times,
// or the failure with its context.
void show(const TuningRecord& record, std::ostream& out);

// "rk3399", "rk3399 (emulated)": an emulator's time is not a board's.
std::string device_text(const TuningRecord& record);
// "1.23 ms", "45.6 us", "789 ns": three digits that count.
std::string duration_text(double nanoseconds);
// Nominal rate of a record; empty when it has no time. "-" in tables.
std::string gflops_text(const TuningRecord& record);
// "2026-11-20 12:34:56 UTC".
std::string time_text(std::int64_t unix_ms);

}  // namespace fettle::records
