// Outcome <-> JSON, table by table of schemas/measure.fbs.
#include "host/records/outcome_json.h"

#include <utility>

#include "schemas/wire/limits.h"

namespace fettle::records {
namespace {

template <typename Enum>
void get_enum(Fields& fields, const char* name, Enum& to, const char* const* names, Enum last) {
  std::string text;
  fields.get(name, text);
  for (unsigned i = 0; i <= static_cast<unsigned>(last); ++i) {
    if (text == names[i]) {
      to = static_cast<Enum>(i);
      return;
    }
  }
  fields.fail(name, "is unknown: '" + text + "'");
}

// Codes are appended as fettle grows: one of a later version reads as Internal, with its name
// before the message, so that one row does not make a whole database unreadable.
void get_code(Fields& fields, wire::ErrorT& error) {
  std::string text;
  fields.get("code", text);
  for (const wire::ErrorCode code : wire::EnumValuesErrorCode()) {
    if (text != wire::EnumNameErrorCode(code)) continue;
    error.code = code;
    return;
  }
  error.code = wire::ErrorCode::Internal;
  error.message = "code '" + text + "', unknown to this version: " + error.message;
}

Json to_json(const wire::ConditionsT& c) {
  return {{"core", c.core},
          {"cpu_khz", c.cpu_khz},
          {"gpu_khz", c.gpu_khz},
          {"accelerator_khz", c.accelerator_khz},
          {"governor", c.governor},
          {"temperature_millidegrees", c.temperature_millidegrees},
          {"throttle_events", c.throttle_events},
          {"involuntary_switches", c.involuntary_switches},
          {"steal_ticks", c.steal_ticks},
          {"load_average", number_json(c.load_average)},
          {"throttled", c.throttled},
          {"power_mode", c.power_mode}};
}

Result<std::unique_ptr<wire::ConditionsT>> conditions_from(const Json& json) {
  auto c = std::make_unique<wire::ConditionsT>();
  Fields fields(json, "conditions");
  fields.get("core", c->core, false);
  fields.get("cpu_khz", c->cpu_khz, false);
  fields.get("gpu_khz", c->gpu_khz, false);
  fields.get("accelerator_khz", c->accelerator_khz, false);
  fields.get("governor", c->governor, false);
  fields.get("temperature_millidegrees", c->temperature_millidegrees, false);
  fields.get("throttle_events", c->throttle_events, false);
  fields.get("involuntary_switches", c->involuntary_switches, false);
  fields.get("steal_ticks", c->steal_ticks, false);
  fields.get("load_average", c->load_average, false);
  fields.get("throttled", c->throttled, false);
  fields.get("power_mode", c->power_mode, false);
  if (Result<void> done = fields.done(); !done) return std::move(done).error();
  return c;
}

// A measurement's readings, each absent where it was not made.
constexpr std::pair<const char*, std::unique_ptr<wire::ConditionsT> wire::MeasurementT::*>
    kConditions[] = {{"before", &wire::MeasurementT::before},
                     {"after", &wire::MeasurementT::after},
                     {"lowest", &wire::MeasurementT::lowest},
                     {"highest", &wire::MeasurementT::highest}};

Json to_json(const wire::MeasurementT& m) {
  Json samples = Json::array();
  for (const wire::Sample& sample : m.samples) samples.push_back({sample.ticks(), sample.runs()});
  Json json = {{"clock", wire::EnumNameClockDomain(m.clock)},
               {"ticks_per_second", number_json(m.ticks_per_second)},
               {"number", m.number},
               {"samples", std::move(samples)},
               {"disturbed", m.disturbed},
               {"throttled", m.throttled},
               {"median", number_json(m.median)},
               {"interval_low", number_json(m.interval_low)},
               {"interval_high", number_json(m.interval_high)},
               {"censored", m.censored}};
  if (m.borrowed > 0) json["borrowed"] = m.borrowed;
  if (m.weights_bytes > 0) json["weights_bytes"] = m.weights_bytes;
  if (!m.launch_ticks.empty()) {
    Json& ticks = json["launch_ticks"] = Json::array();
    for (double each : m.launch_ticks) ticks.push_back(number_json(each));
  }
  for (const auto& [name, conditions] : kConditions) {
    if (m.*conditions) json[name] = to_json(*(m.*conditions));
  }
  return json;
}

void get_samples(Fields& fields, std::vector<wire::Sample>& to) {
  const Json* samples = fields.find("samples");
  if (samples == nullptr) return;
  if (!samples->is_array() || samples->size() > limits::kSamples) {
    return fields.fail("samples", "is not a list of at most " + std::to_string(limits::kSamples));
  }
  for (const Json& sample : *samples) {
    if (!sample.is_array() || sample.size() != 2 || !sample[0].is_number_unsigned() ||
        !sample[1].is_number_unsigned() || sample[1].get<std::uint64_t>() > 0xffffffffu) {
      return fields.fail("samples", "holds something other than [ticks, runs]");
    }
    to.emplace_back(sample[0].get<std::uint64_t>(), sample[1].get<std::uint32_t>());
  }
}

void get_launch_ticks(Fields& fields, std::vector<double>& to) {
  const Json* ticks = fields.find("launch_ticks", false);
  if (ticks == nullptr) return;
  if (!ticks->is_array() || ticks->size() > limits::kLaunches) {
    return fields.fail("launch_ticks",
                       "is not a list of at most " + std::to_string(limits::kLaunches));
  }
  for (const Json& each : *ticks) {
    if (!each.is_number()) return fields.fail("launch_ticks", "holds something other than numbers");
    to.push_back(each.get<double>());
  }
}

Result<wire::MeasurementT> measurement_from(const Json& json) {
  wire::MeasurementT m;
  Fields fields(json, "measurement");
  get_enum(fields, "clock", m.clock, wire::EnumNamesClockDomain(), wire::ClockDomain::MAX);
  fields.get("ticks_per_second", m.ticks_per_second);
  fields.get("number", m.number);
  get_samples(fields, m.samples);
  fields.get("disturbed", m.disturbed, false);
  fields.get("borrowed", m.borrowed, false);
  fields.get("weights_bytes", m.weights_bytes, false);
  fields.get("throttled", m.throttled, false);
  get_launch_ticks(fields, m.launch_ticks);
  fields.get("median", m.median);
  fields.get("interval_low", m.interval_low);
  fields.get("interval_high", m.interval_high);
  fields.get("censored", m.censored);
  for (const auto& [name, conditions] : kConditions) {
    const Json* found = fields.find(name, false);
    if (found == nullptr) continue;
    Result<std::unique_ptr<wire::ConditionsT>> read = conditions_from(*found);
    if (!read) return std::move(read).error();
    m.*conditions = std::move(*read);
  }
  if (Result<void> done = fields.done(); !done) return std::move(done).error();
  return m;
}

Json to_json(const wire::FailureT& failure) {
  Json json = {{"stage", wire::EnumNameStage(failure.stage)}};
  const wire::ErrorT unknown;
  const wire::ErrorT& error = failure.error ? *failure.error : unknown;
  json["code"] = wire::EnumNameErrorCode(error.code);
  json["message"] = error.message;
  json["context"] = error.context;
  return json;
}

Result<wire::FailureT> failure_from(const Json& json) {
  wire::FailureT failure;
  failure.error = std::make_unique<wire::ErrorT>();
  Fields fields(json, "failure");
  get_enum(fields, "stage", failure.stage, wire::EnumNamesStage(), wire::Stage::MAX);
  fields.get("message", failure.error->message);
  get_code(fields, *failure.error);
  if (const Json* context = fields.find("context", false)) {
    if (!context->is_array()) fields.fail("context", "is not a list");
    for (const Json& line : *context) {
      if (!line.is_string())
        fields.fail("context", "holds something other than texts");
      else
        failure.error->context.push_back(line.get<std::string>());
    }
  }
  if (Result<void> done = fields.done(); !done) return std::move(done).error();
  return failure;
}

Json to_json(const wire::StageTimesT& t) {
  return {{"queue_ns", t.queue_ns},
          {"upload_ns", t.upload_ns},
          {"load_ns", t.load_ns},
          {"warmup_ns", t.warmup_ns},
          {"check_ns", t.check_ns},
          {"run_ns", t.run_ns},
          {"idle_before_ns", t.idle_before_ns},
          {"total_ns", t.total_ns}};
}

Result<std::unique_ptr<wire::StageTimesT>> times_from(const Json& json) {
  auto t = std::make_unique<wire::StageTimesT>();
  Fields fields(json, "times");
  fields.get("queue_ns", t->queue_ns, false);
  fields.get("upload_ns", t->upload_ns, false);
  fields.get("load_ns", t->load_ns, false);
  fields.get("warmup_ns", t->warmup_ns, false);
  fields.get("check_ns", t->check_ns, false);
  fields.get("run_ns", t->run_ns, false);
  fields.get("idle_before_ns", t->idle_before_ns, false);
  fields.get("total_ns", t->total_ns, false);
  if (Result<void> done = fields.done(); !done) return std::move(done).error();
  return t;
}

}  // namespace

Json to_json(const wire::OutcomeT& outcome) {
  Json json = {{"board_id", outcome.board_id}, {"device_index", outcome.device_index}};
  if (outcome.times) json["times"] = to_json(*outcome.times);
  if (const auto* m = outcome.body.AsMeasurement()) json["measurement"] = to_json(*m);
  if (const auto* f = outcome.body.AsFailure()) json["failure"] = to_json(*f);
  return json;
}

Result<wire::OutcomeT> outcome_from_json(const Json& json) {
  wire::OutcomeT outcome;
  Fields fields(json, "outcome");
  fields.get("board_id", outcome.board_id, false);
  fields.get("device_index", outcome.device_index, false);
  const Json* times = fields.find("times", false);
  const Json* measurement = fields.find("measurement", false);
  const Json* failure = fields.find("failure", false);
  if ((measurement == nullptr) == (failure == nullptr)) {
    fields.fail("measurement", "and field 'failure': exactly one of them must be there");
  }
  if (Result<void> done = fields.done(); !done) return std::move(done).error();
  if (times != nullptr) {
    Result<std::unique_ptr<wire::StageTimesT>> read = times_from(*times);
    if (!read) return std::move(read).error();
    outcome.times = std::move(*read);
  }
  if (measurement != nullptr) {
    Result<wire::MeasurementT> read = measurement_from(*measurement);
    if (!read) return std::move(read).error();
    outcome.body.Set(std::move(*read));
  } else {
    Result<wire::FailureT> read = failure_from(*failure);
    if (!read) return std::move(read).error();
    outcome.body.Set(std::move(*read));
  }
  return outcome;
}

}  // namespace fettle::records
