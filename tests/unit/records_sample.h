// Records to test with: every field set, and none twice alike.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "host/records/database.h"
#include "host/records/record_json.h"
#include "schemas/wire/codec.h"

namespace fettle::records::test {

// A folder of its own for one test, gone with it.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = ::testing::TempDir() + "fettle-records-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  TempFolder(const TempFolder&) = delete;
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline TuningRecord measured(int n, double nanoseconds) {
  TuningRecord r;
  r.session = "5e55";
  r.workload = R"({"batch":1,"op":"conv2d"})";
  r.workload_hash = "00112233aabbccdd";
  r.target = R"({"backend":"cpu_llvm","threads":2})";
  r.configuration = R"({"knobs":{"oc":[4,)" + std::to_string(n) + R"(]},"sketch":"tiled"})";
  r.device_key = "local";
  r.board_id = "board-1";
  r.program_hash = std::string(60, 'a') + std::to_string(1000 + n);
  r.unix_ms = 1'800'000'000'000 + n;
  r.operations = 2.5e9;
  r.peak_gflops = 123.456789012345;
  r.build_ns = 12'345'678'901;
  wire::MeasurementT m;
  m.clock = wire::ClockDomain::Nanoseconds;
  m.ticks_per_second = 1e9;
  m.number = 7;
  for (unsigned i = 0; i < 5; ++i) m.samples.emplace_back(std::uint64_t(nanoseconds * 7) + i, 7);
  m.disturbed = 2;
  m.borrowed = 1;
  m.launch_ticks = {1000, 234.5};
  m.median = nanoseconds;
  m.interval_low = nanoseconds * 0.99;
  m.interval_high = nanoseconds * 1.0100000000000002;
  m.before = std::make_unique<wire::ConditionsT>();
  m.before->core = 3;
  m.before->cpu_khz = 2'100'000;
  m.before->gpu_khz = 800'000;
  m.before->accelerator_khz = 100'000;
  m.before->governor = "performance";
  m.before->temperature_millidegrees = -1500;
  m.before->throttle_events = 4;
  m.before->involuntary_switches = 0xffff'ffff'ffff'ffff;
  m.before->steal_ticks = 6;
  m.before->load_average = 0.1;
  m.after = std::make_unique<wire::ConditionsT>();
  m.lowest = std::make_unique<wire::ConditionsT>();
  m.highest = std::make_unique<wire::ConditionsT>();
  m.lowest->cpu_khz = 1'950'000;
  m.highest->cpu_khz = 2'100'000;
  m.highest->temperature_millidegrees = 61'500;
  r.outcome.body.Set(std::move(m));
  r.outcome.times = std::make_unique<wire::StageTimesT>();
  wire::StageTimesT& t = *r.outcome.times;
  t.queue_ns = 1;
  t.upload_ns = 2;
  t.load_ns = 3;
  t.warmup_ns = 4;
  t.check_ns = 5;
  t.run_ns = 6;
  t.idle_before_ns = 7;
  t.total_ns = 0xffff'ffff'ffff'fffe;
  r.outcome.board_id = "board-1";
  r.outcome.device_index = 1;
  return r;
}

inline TuningRecord failed(int n, ErrorCode code, wire::Stage stage, const std::string& message) {
  TuningRecord r = measured(n, 1);
  r.outcome.body.Set(make_failure(stage, Error{code, message, {"running trial", "tuning \"x\""}}));
  return r;
}

inline TuningRecord censored(int n, double nanoseconds) {
  TuningRecord r = measured(n, nanoseconds);
  r.outcome.body.AsMeasurement()->censored = true;
  return r;
}

// Records are equal when their JSON, which leaves nothing out but the id, is.
inline std::string text_of(const TuningRecord& record) { return dump_json(to_json(record)); }

inline Database open_or_die(const std::string& path, const OpenOptions& options = {}) {
  Result<Database> database = Database::open(path, options);
  if (!database) {
    ADD_FAILURE() << database.error().text();
    std::abort();
  }
  return std::move(*database);
}

}  // namespace fettle::records::test

#define ASSERT_DONE(expression)                                  \
  do {                                                           \
    auto&& done_result = (expression);                           \
    ASSERT_TRUE(done_result.ok()) << done_result.error().text(); \
  } while (false)
