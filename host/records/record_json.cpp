// Rows of the database as JSON objects.
#include "host/records/record_json.h"

#include <cmath>

#include "host/records/outcome_json.h"
#include "schemas/wire/check_measurement.h"

namespace fettle::records {
namespace {

// A text that is canonical JSON is shown as JSON, so that people and jq can read
// it; any other text stays a text. Either way it comes back byte by byte.
Json embed(const std::string& text) {
  Json value = json_or_text(text);
  if (value.is_object() && dump_json(value) == text) return value;
  return text;
}

void get_embedded(Fields& fields, const char* name, std::string& to) {
  const Json* value = fields.find(name);
  if (value == nullptr) return;
  if (value->is_string())
    to = value->get<std::string>();
  else if (value->is_object())
    to = dump_json(*value);
  else
    fields.fail(name, "is neither a text nor an object");
  if (nested_too_deep(to)) fields.fail(name, "is nested too deep");
}

// What a board or this program would not have stored: such a time would win over all true ones.
Result<void> check_times(const TuningRecord& r) {
  if (const wire::MeasurementT* measured = r.measurement()) {
    if (Result<void> checked = check_measurement(*measured); !checked) return checked;
  }
  if (!r.confirmed_nanoseconds) return {};
  const double confirmed = *r.confirmed_nanoseconds;
  if (!(confirmed > 0) || !std::isfinite(confirmed)) {
    return Error{ErrorCode::Malformed, "field 'confirmed_ns' of trial is no positive number", {}};
  }
  if (!r.nanoseconds()) {
    return Error{ErrorCode::Malformed,
                 "field 'confirmed_ns' of a trial that failed, was stopped early or has no time",
                 {}};
  }
  return {};
}

Json line(const char* kind) { return {{"fettle", kLineVersion}, {"kind", kind}}; }

}  // namespace

Json to_json(const TuningRecord& r) {
  Json json = line("trial");
  json["session"] = r.session;
  json["workload"] = embed(r.workload);
  json["workload_hash"] = r.workload_hash;
  json["title"] = r.title;
  json["source"] = embed(r.source);
  json["target"] = embed(r.target);
  json["configuration"] = embed(r.configuration);
  json["device_key"] = r.device_key;
  json["board_id"] = r.board_id;
  json["program_hash"] = r.program_hash;
  json["unix_ms"] = r.unix_ms;
  json["operations"] = number_json(r.operations);
  json["peak_gflops"] = number_json(r.peak_gflops);
  json["build_ns"] = r.build_ns;
  json["reused"] = r.reused;
  // Of rows that an older import took, too: what was not measured is not confirmed.
  if (r.confirmed_nanoseconds && r.nanoseconds())
    json["confirmed_ns"] = number_json(*r.confirmed_nanoseconds);
  json["outcome"] = to_json(r.outcome);
  return json;
}

Result<TuningRecord> record_from_json(const Json& json) {
  TuningRecord r;
  Fields fields(json, "trial");
  fields.get("session", r.session);
  get_embedded(fields, "workload", r.workload);
  fields.get("workload_hash", r.workload_hash);
  fields.get("title", r.title, false);
  if (fields.find("source", false) != nullptr) get_embedded(fields, "source", r.source);
  get_embedded(fields, "target", r.target);
  get_embedded(fields, "configuration", r.configuration);
  fields.get("device_key", r.device_key);
  fields.get("board_id", r.board_id);
  fields.get("program_hash", r.program_hash);
  fields.get("unix_ms", r.unix_ms);
  fields.get("operations", r.operations);
  fields.get("peak_gflops", r.peak_gflops);
  fields.get("build_ns", r.build_ns);
  fields.get("reused", r.reused, false);
  if (fields.find("confirmed_ns", false) != nullptr)
    fields.get("confirmed_ns", r.confirmed_nanoseconds.emplace());
  const Json* outcome = fields.find("outcome");
  if (Result<void> done = fields.done(); !done) return std::move(done).error();
  Result<wire::OutcomeT> read = outcome_from_json(*outcome);
  if (!read) return std::move(read).error();
  r.outcome = std::move(*read);
  if (Result<void> checked = check_times(r); !checked) return std::move(checked).error();
  return r;
}

Json to_json(const Session& s) {
  Json json = line("session");
  json["session"] = s.session;
  json["name"] = s.name;
  json["device_key"] = s.device_key;
  json["options"] = embed(s.options);
  json["seed"] = s.seed;
  json["software"] = s.software;
  json["started_ms"] = s.started_ms;
  if (s.ended_ms) json["ended_ms"] = *s.ended_ms;
  json["state"] = name_of(s.state);
  json["reason"] = s.reason;
  return json;
}

Result<Session> session_from_json(const Json& json) {
  Session s;
  std::string state;
  Fields fields(json, "session");
  fields.get("session", s.session);
  fields.get("name", s.name, false);
  fields.get("device_key", s.device_key, false);
  get_embedded(fields, "options", s.options);
  fields.get("seed", s.seed, false);
  fields.get("software", s.software, false);
  fields.get("started_ms", s.started_ms, false);
  if (fields.find("ended_ms", false) != nullptr) fields.get("ended_ms", s.ended_ms.emplace());
  fields.get("state", state);
  fields.get("reason", s.reason, false);
  const std::optional<SessionState> known = session_state(state);
  if (!known) fields.fail("state", "is unknown: '" + state + "'");
  if (Result<void> done = fields.done(); !done) return std::move(done).error();
  s.state = *known;
  return s;
}

Json to_json(const DeviceRow& d) {
  Json json = line("device");
  json["device_key"] = d.device_key;
  json["board_id"] = d.board_id;
  json["device_index"] = d.device_index;
  json["emulated"] = d.emulated;
  json["board"] = embed(d.board_facts);
  json["device"] = embed(d.device_facts);
  return json;
}

Result<DeviceRow> device_from_json(const Json& json) {
  DeviceRow d;
  Fields fields(json, "device");
  fields.get("device_key", d.device_key);
  fields.get("board_id", d.board_id);
  fields.get("device_index", d.device_index);
  fields.get("emulated", d.emulated, false);
  get_embedded(fields, "board", d.board_facts);
  get_embedded(fields, "device", d.device_facts);
  if (Result<void> done = fields.done(); !done) return std::move(done).error();
  return d;
}

Json to_json(const Calibration& c) {
  Json json = line("calibration");
  json["device_key"] = c.device_key;
  json["board_id"] = c.board_id;
  json["device_index"] = c.device_index;
  json["threads"] = c.threads;
  json["unix_ms"] = c.unix_ms;
  Json figures = Json::object();
  for (const auto& [name, value] : c.figures) figures[name] = number_json(value);
  json["figures"] = std::move(figures);
  return json;
}

Result<Calibration> calibration_from_json(const Json& json) {
  Calibration c;
  Fields fields(json, "calibration");
  fields.get("device_key", c.device_key);
  fields.get("board_id", c.board_id);
  fields.get("device_index", c.device_index);
  fields.get("threads", c.threads);
  fields.get("unix_ms", c.unix_ms);
  const Json* figures = fields.find("figures");
  if (Result<void> done = fields.done(); !done) return std::move(done).error();
  Fields numbers(*figures, "figures");
  if (figures->is_object()) {
    for (const auto& [name, value] : figures->items()) numbers.get(name.c_str(), c.figures[name]);
  }
  if (Result<void> done = numbers.done(); !done) return std::move(done).error();
  return c;
}

}  // namespace fettle::records
