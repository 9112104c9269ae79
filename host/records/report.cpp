// `fettle records show`.
#include "host/records/report.h"
#include "host/records/workload_form.h"
#include "schemas/wire/clock_domain.h"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <ostream>

namespace fettle::records {
namespace {

[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...) {
  std::array<char, 256> text{};
  va_list values;
  va_start(values, pattern);
  std::vsnprintf(text.data(), text.size(), pattern, values);
  va_end(values);
  return text.data();
}

void show_conditions(const char* title, const wire::ConditionsT* c, std::ostream& out) {
  if (c == nullptr) return;
  out << "  " << title << "  core " << c->core;
  if (c->cpu_khz != 0) out << format(", cpu %.0f MHz", c->cpu_khz / 1e3);
  if (c->gpu_khz != 0) out << format(", gpu %.0f MHz", c->gpu_khz / 1e3);
  if (c->accelerator_khz != 0) out << format(", accelerator %.0f MHz", c->accelerator_khz / 1e3);
  if (!c->governor.empty()) out << ", governor " << c->governor;
  if (!c->power_mode.empty()) out << ", power mode " << c->power_mode;
  if (c->throttled) out << ", throttled";
  if (c->temperature_millidegrees != 0)
    out << format(", %.1f C", c->temperature_millidegrees / 1e3);
  out << ", throttle events " << c->throttle_events << ", involuntary switches "
      << c->involuntary_switches << ", steal ticks " << c->steal_ticks
      << format(", load %.2f", c->load_average) << "\n";
}

void show_range(const wire::ConditionsT& low, const wire::ConditionsT& high, std::ostream& out) {
  const struct {
    const char *name, *unit;
    double low, high;  // thousandths
  } rows[] = {
      {"cpu", "MHz", double(low.cpu_khz), double(high.cpu_khz)},
      {"gpu", "MHz", double(low.gpu_khz), double(high.gpu_khz)},
      {"accelerator", "MHz", double(low.accelerator_khz), double(high.accelerator_khz)},
      {"hottest zone", "C", double(low.temperature_millidegrees),
       double(high.temperature_millidegrees)},
  };
  const char* before = "  around each sample  ";
  for (const auto& row : rows) {
    if (row.high <= 0) continue;
    out << before
        << format("%s %.4g to %.4g %s", row.name, row.low / 1e3, row.high / 1e3, row.unit);
    before = ", ";
  }
  out << "\n";
}

// A time of the clock's own kind: never ticks as nanoseconds.
std::string ticks_text(double ticks, const wire::MeasurementT& m) {
  const auto nanoseconds = ticks_to_nanoseconds(ticks, m.clock, m.ticks_per_second);
  const ClockFacts& clock = clock_facts(m.clock);
  if (nanoseconds && clock.wall_time) {
    return duration_text(*nanoseconds);
  }
  const std::string own = format("%.0f ", ticks) + clock.unit;
  return nanoseconds ? own + " (" + duration_text(*nanoseconds) + ")" : own;
}

void show_measurement(const TuningRecord& r, const wire::MeasurementT& m, std::ostream& out) {
  if (m.censored) {
    out << "result         at least " << ticks_text(m.interval_low, m)
        << " (censored: stopped when it was clearly slower than the best)\n";
  } else {
    out << "result         " << ticks_text(m.median, m) << " (median; 95 % interval "
        << ticks_text(m.interval_low, m) << " to " << ticks_text(m.interval_high, m) << ")\n";
  }
  if (r.confirmed_nanoseconds) {
    out << "confirmed      " << duration_text(*r.confirmed_nanoseconds)
        << ", measured again beside the other fastest programs of its task\n";
  }
  if (r.rated_nanoseconds()) {
    out << "rate           " << gflops_text(r) << " GFLOPS";
    if (r.peak_gflops > 0) {
      out << format(", %.1f %% of the device's peak of %.1f",
                    100 * r.operations / *r.rated_nanoseconds() / r.peak_gflops, r.peak_gflops);
    }
    out << "\n";
  }
  out << "samples        " << m.samples.size() << " of " << m.number << " runs, " << m.disturbed
      << " disturbed and taken again";
  if (m.weights_bytes > 0) out << ", weights out of the caches";
  if (m.borrowed > 0) {
    out << ", " << m.borrowed << " of these samples borrowed from them: too few were clean";
  }
  if (m.throttled > 0) out << ", " << m.throttled << " of them throttled: after a cool-down";
  out << "\n";
  for (const wire::Sample& sample : m.samples) {
    out << "  " << sample.ticks() << " ticks / " << sample.runs() << " runs = "
        << ticks_text(sample.runs() == 0 ? 0 : static_cast<double>(sample.ticks()) / sample.runs(),
                      m)
        << "\n";
  }
  for (std::size_t i = 0; i < m.launch_ticks.size(); ++i) {
    out << (i == 0 ? "launches     " : "             ") << "  " << i << ": "
        << ticks_text(m.launch_ticks[i], m) << "\n";
  }
  out << "conditions\n";
  show_conditions("before", m.before.get(), out);
  show_conditions("after ", m.after.get(), out);
  if (m.lowest && m.highest) show_range(*m.lowest, *m.highest, out);
}

void show_failure(const wire::FailureT& failure, std::ostream& out) {
  out << "failure        stage " << fettle::name_of(failure.stage);
  if (failure.error) {
    out << ", " << fettle::name_of(failure.error->code) << "\nmessage        "
        << failure.error->message;
    for (const std::string& line : failure.error->context) out << "\n               while " << line;
  }
  out << "\n";
}

}  // namespace

std::string device_text(const TuningRecord& r) {
  return r.device_key + (r.emulated ? " (emulated)" : "");
}

std::string duration_text(double ns) {
  struct Unit {
    double size;
    const char* name;
  };
  constexpr std::array<Unit, 4> kUnits{{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}}};
  for (const Unit& unit : kUnits) {
    const double value = ns / unit.size;
    if (value < 0.9995 && unit.size > 1) continue;
    return format(value < 9.995   ? "%.2f %s"
                  : value < 99.95 ? "%.1f %s"
                                  : "%.0f %s",
                  value, unit.name);
  }
  return "0 ns";
}

std::string gflops_text(const TuningRecord& r) {
  const std::optional<double> ns = r.rated_nanoseconds();
  if (!ns) return "-";
  const double rate = r.operations / *ns;
  return format(rate < 10 ? "%.2f" : "%.1f", rate);
}

std::string time_text(std::int64_t unix_ms) {
  const std::time_t seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text.data();
}

void show(const TuningRecord& r, std::ostream& out) {
  out << "record         " << r.id << "\n"
      << "ended          " << time_text(r.unix_ms) << "\n"
      << "session        " << r.session << "\n"
      << "device         " << device_text(r) << ", board " << r.board_id << ", device "
      << r.outcome.device_index << "\n"
      << "workload       " << r.workload_hash << " " << r.title << "\n"
      << "source         " << source_for_people(r.source.empty() ? r.workload : r.source) << "\n"
      << "target         " << r.target << "\n"
      << "configuration  " << r.configuration << "\n"
      << "program        " << (r.program_hash.empty() ? "not built" : r.program_hash)
      << (r.reused ? " (outcome of an earlier, identical artifact)" : "") << "\n";
  if (const auto* m = r.measurement()) show_measurement(r, *m, out);
  if (const auto* f = r.failure()) show_failure(*f, out);
  out << "times          build " << duration_text(static_cast<double>(r.build_ns));
  if (const auto* t = r.outcome.times.get()) {
    const auto part = [&](const char* name, std::uint64_t ns) {
      out << ", " << name << " " << duration_text(static_cast<double>(ns));
    };
    part("queue", t->queue_ns);
    part("upload", t->upload_ns);
    part("load", t->load_ns);
    part("warm-up", t->warmup_ns);
    part("check", t->check_ns);
    part("run", t->run_ns);
    part("device idle before", t->idle_before_ns);
    part("total", t->total_ns);
  }
  out << "\n";
}

}  // namespace fettle::records
