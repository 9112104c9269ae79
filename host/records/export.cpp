// JSON lines out and in. Import reads all of its input before it takes the database's lock,
// then stores in one transaction.
#include "host/records/export.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <istream>
#include <map>
#include <ostream>
#include <set>
#include <tuple>
#include <variant>

#include "host/records/queries.h"
#include "host/records/record_json.h"
#include "host/records/workload_form.h"
#include "schemas/wire/bounded_read.h"

namespace fettle::records {
namespace {

constexpr std::size_t kLineBytes = std::size_t{64} << 20;

class Lines {
 public:
  explicit Lines(std::ostream& out) : out_(out) {}
  void put(const Json& json) {
    errno = 0;
    out_ << dump_json(json) << '\n';
    keep_errno();
    ++counts.lines;
  }
  Result<LineCounts> end() {
    errno = 0;
    out_.flush();
    keep_errno();
    if (out_) return counts;
    const bool full = errno_ == ENOSPC || errno_ == EDQUOT || errno_ == EFBIG;
    return Error{full ? ErrorCode::DiskFull : ErrorCode::Io,
                 full ? std::string("disk full: the export is cut off; the database is untouched: "
                                    "free some space and export again")
                      : std::string("the export could not be written: ") + std::strerror(errno_),
                 {}};
  }
  LineCounts counts;

 private:
  void keep_errno() {
    if (!out_ && errno_ == 0) errno_ = errno;
  }
  std::ostream& out_;
  int errno_ = 0;  // of the first write that failed
};

// What a set of trials refers to, for exports of a part.
struct Referred {
  std::set<std::string> sessions;
  std::set<std::pair<std::string, std::string>> devices;  // key and board
  void add(const TuningRecord& r) {
    sessions.insert(r.session);
    devices.insert({r.device_key, r.board_id});
  }
};

struct Context {
  std::vector<DeviceRow> devices;
  std::vector<Session> sessions;
  std::vector<Calibration> calibrations;
};

// Of trials that another process stores while an export is under way, those whose device and
// session it has told of. Without them an import would not know what a time was measured on.
class ToldOf {
 public:
  explicit ToldOf(const Context& context) {
    for (const DeviceRow& device : context.devices) devices_.insert(device.id);
    for (const Session& session : context.sessions) sessions_.insert(session.session);
  }
  bool holds(const TuningRecord& trial) const {
    return devices_.contains(trial.device_row) && sessions_.contains(trial.session);
  }

 private:
  std::set<std::int64_t> devices_;
  std::set<std::string> sessions_;
};

// Devices, sessions and calibrations that `referred` names; all when it is null.
Result<Context> context_of(const Database& database, const Referred* referred) {
  Result<std::vector<DeviceRow>> devices = database.devices();
  if (!devices) return std::move(devices).error();
  Result<std::vector<Session>> sessions = database.sessions();
  if (!sessions) return std::move(sessions).error();
  Result<std::vector<Calibration>> calibrations = database.calibrations();
  if (!calibrations) return std::move(calibrations).error();
  Context context{std::move(*devices), std::move(*sessions), std::move(*calibrations)};
  if (referred == nullptr) return context;
  const auto unknown = [&](const auto& row) {
    return !referred->devices.contains({row.device_key, row.board_id});
  };
  std::erase_if(context.devices, unknown);
  std::erase_if(context.calibrations, unknown);
  std::erase_if(context.sessions,
                [&](const Session& s) { return !referred->sessions.contains(s.session); });
  return context;
}

// Lines of trials name the line of their device, in the state it was in then, by this field:
// the row's id in the database that was exported. Earlier versions wrote none.
constexpr const char* kDeviceLine = "device_line";

template <typename Row>
Json with_device_line(const Row& row, std::int64_t id) {
  Json json = to_json(row);
  json[kDeviceLine] = id;
  return json;
}

void put(Lines& lines, const TuningRecord& record) {
  lines.put(with_device_line(record, record.device_row));
}

void put(Lines& lines, const Context& context) {
  for (const DeviceRow& device : context.devices) lines.put(with_device_line(device, device.id));
  for (const Session& session : context.sessions) lines.put(to_json(session));
  for (const Calibration& calibration : context.calibrations) lines.put(to_json(calibration));
}

bool is_everything(const Filter& f) {
  return f.workload.empty() && f.target.empty() && f.device_key.empty() && f.board_id.empty() &&
         f.session.empty() && f.after_id == 0 && !f.measured_only;
}

// What one line holds; `device_line` of devices and trials, 0 when it is not stated.
struct Line {
  std::variant<TuningRecord, Session, DeviceRow, Calibration> content;
  std::int64_t device_line = 0;
};

template <typename T>
Result<Line> line_of(Result<T> read, std::int64_t device_line) {
  if (!read) return std::move(read).error();
  return Line{std::move(*read), device_line};
}

// The workload of an earlier version's line; one that cannot be read stays as it is.
void to_current_form(TuningRecord& record) {
  auto form = workload_form(record.workload);
  if (!form) return;
  record.workload = std::move(form->canonical);
  record.workload_hash = std::move(form->hash);
  record.title = std::move(form->title);
  record.source = std::move(form->source);
}

Result<Line> parse_line(const std::string& text) {
  if (text.size() > kLineBytes) {
    return Error{ErrorCode::TooLarge,
                 "longer than " + std::to_string(kLineBytes >> 20) + " MiB: not an export",
                 {}};
  }
  Result<Json> json = parse_json(text);
  if (!json) return std::move(json).error();
  std::int64_t version = 0, device_line = 0;
  std::string kind;
  Fields fields(*json, "the line");
  fields.get("fettle", version);
  if (fields.done() && (version < 1 || version > kLineVersion)) {
    return Error{ErrorCode::VersionMismatch,
                 "format version " + std::to_string(version) + ", this fettle reads version " +
                     std::to_string(kLineVersion) + ": use the fettle that wrote it",
                 {}};
  }
  fields.get("kind", kind);
  fields.get(kDeviceLine, device_line, false);
  if (Result<void> done = fields.done(); !done) return std::move(done).error();
  if (kind == "trial") {
    Result<TuningRecord> record = record_from_json(*json);
    if (record && version == 1) to_current_form(*record);
    return line_of(std::move(record), device_line);
  }
  if (kind == "session") return line_of(session_from_json(*json), 0);
  if (kind == "device") return line_of(device_from_json(*json), device_line);
  if (kind == "calibration") return line_of(calibration_from_json(*json), 0);
  return Error{ErrorCode::Malformed, "unknown kind '" + kind + "'", {}};
}

Result<std::vector<Line>> read_lines(std::istream& in, const std::string& source) {
  std::vector<Line> lines;
  BoundedLines from(in, source);
  for (std::string text;;) {
    Result<bool> more = from.next(text);
    if (!more) {
      more.error().message += "; nothing was imported";
      return std::move(more).error();
    }
    if (!*more) return lines;
    if (!text.empty() && text.back() == '\r') text.pop_back();
    if (text.empty()) continue;
    Result<Line> line = parse_line(text);
    if (!line) {
      Error error = std::move(line).error();
      error.message = source + ":" + std::to_string(from.number()) + ": " + error.message +
                      "; nothing was imported";
      return error;
    }
    lines.push_back(std::move(*line));
  }
}

// Stores rows of another database; inside one transaction.
struct Importer {
  Database& to;
  // Row there and which device it is -> row here.
  std::map<std::tuple<std::int64_t, std::string, std::string, std::uint32_t>, std::int64_t> devices;

  Result<void> put(const DeviceRow& device, std::int64_t row) {
    Result<std::int64_t> here = to.put_device(device);
    if (!here) return std::move(here).error();
    if (row != 0) devices[{row, device.device_key, device.board_id, device.device_index}] = *here;
    return {};
  }
  Result<void> put(const TuningRecord& record, std::int64_t device_row, LineCounts& counts) {
    const auto here =
        devices.find({device_row, record.device_key, record.board_id, record.outcome.device_index});
    if (device_row != 0 && here == devices.end()) {
      return Error{ErrorCode::Malformed, "a trial of " + record.device_key + " on board " +
                                             record.board_id + " names the device of line " +
                                             std::to_string(device_row) +
                                             ", which no line before it tells"};
    }
    Result<Database::Imported> stored = to.import(record, here == devices.end() ? 0 : here->second);
    if (!stored) return std::move(stored).error();
    ++counts.trials;
    counts.added += stored->added ? 1 : 0;
    counts.confirmed += stored->confirmed ? 1 : 0;
    return {};
  }
  Result<void> put(Session session) {
    // Its process is not ours to watch: a session exported while it ran has no end here.
    if (session.state == SessionState::Running) session.state = SessionState::Unknown;
    Result<bool> added = to.put_session(session);
    if (!added) return std::move(added).error();
    return {};
  }
};

Result<void> store(Importer& importer, const Line& line, LineCounts& counts) {
  ++counts.lines;
  if (const auto* device = std::get_if<DeviceRow>(&line.content)) {
    return importer.put(*device, line.device_line);
  }
  if (const auto* session = std::get_if<Session>(&line.content)) {
    return importer.put(*session);
  }
  if (const auto* calibration = std::get_if<Calibration>(&line.content)) {
    return importer.to.put_calibration(*calibration);
  }
  return importer.put(std::get<TuningRecord>(line.content), line.device_line, counts);
}

// What was new was so now, or in a try before, if its commit happened.
void keep_more(LineCounts& counts, LineCounts& tried) {
  counts.added = std::max(counts.added, tried.added);
  counts.confirmed = std::max(counts.confirmed, tried.confirmed);
  tried = counts;
}

Result<LineCounts> store_all(Database& database, const std::vector<Line>& lines) {
  LineCounts counts, tried;
  Result<void> done = database.atomically([&]() -> Result<void> {
    counts = {};
    Importer importer{database, {}};
    for (const Line& line : lines) {
      if (Result<void> stored = store(importer, line, counts); !stored) return stored;
    }
    keep_more(counts, tried);
    return {};
  });
  if (!done) return std::move(done).error();
  return counts;
}

Result<std::vector<TuningRecord>> best_with_context(const Database& from, const Filter& filter,
                                                    int k, Context& context) {
  if (k < 1) return Error{ErrorCode::InvalidArgument, "distill keeps at least 1 record a task", {}};
  Result<std::vector<TuningRecord>> records = best(from, filter, k);
  if (!records) return records;
  Referred referred;
  for (const TuningRecord& record : *records) referred.add(record);
  Result<Context> found = context_of(from, &referred);
  if (!found) return std::move(found).error();
  context = std::move(*found);
  return records;
}

}  // namespace

Result<LineCounts> export_lines(const Database& database, const Filter& filter, std::ostream& out) {
  Lines lines(out);
  Referred referred;
  const bool everything = is_everything(filter);
  if (!everything) {
    Result<void> read = database.for_each(filter, [&](const TuningRecord& record) {
      referred.add(record);
      return true;
    });
    if (!read) return std::move(read).error();
  }
  Result<Context> context = context_of(database, everything ? nullptr : &referred);
  if (!context) return std::move(context).error();
  put(lines, *context);
  const ToldOf told(*context);
  Result<void> read = database.for_each(filter, [&](const TuningRecord& record) {
    if (!told.holds(record)) return true;
    put(lines, record);
    ++lines.counts.trials;
    return out.good();
  });
  if (!read) return std::move(read).error();
  return lines.end();
}

Result<LineCounts> import_lines(const std::string& name, std::istream& in,
                                const std::string& source, const OpenOptions& options) {
  Result<std::vector<Line>> lines = read_lines(in, source);
  if (!lines) return std::move(lines).error();
  Result<Database> database = Database::open(name, options);
  if (!database) return std::move(database).error();
  return store_all(*database, *lines);
}

Result<LineCounts> import_lines(Database& database, std::istream& in, const std::string& source) {
  Result<std::vector<Line>> lines = read_lines(in, source);
  if (!lines) return std::move(lines).error();
  return store_all(database, *lines);
}

Result<LineCounts> distill(const Database& from, const Filter& filter, int k, Database& to) {
  Context context;
  Result<std::vector<TuningRecord>> records = best_with_context(from, filter, k, context);
  if (!records) return std::move(records).error();
  LineCounts counts, tried;
  Result<void> done = to.atomically([&]() -> Result<void> {
    counts = {};
    Importer importer{to, {}};
    for (const DeviceRow& device : context.devices) {
      if (Result<void> put = importer.put(device, device.id); !put) return put;
    }
    for (const Session& session : context.sessions) {
      if (Result<void> put = importer.put(session); !put) return put;
    }
    for (const Calibration& calibration : context.calibrations) {
      if (Result<void> put = to.put_calibration(calibration); !put) return put;
    }
    for (const TuningRecord& record : *records) {
      Result<void> put = importer.put(record, record.device_row, counts);
      if (!put) return put;
    }
    keep_more(counts, tried);
    return {};
  });
  if (!done) return std::move(done).error();
  counts.lines = counts.trials + context.devices.size() + context.sessions.size() +
                 context.calibrations.size();
  return counts;
}

Result<LineCounts> distill(const Database& from, const Filter& filter, int k, std::ostream& out) {
  Context context;
  Result<std::vector<TuningRecord>> records = best_with_context(from, filter, k, context);
  if (!records) return std::move(records).error();
  Lines lines(out);
  put(lines, context);
  for (const TuningRecord& record : *records) {
    put(lines, record);
    ++lines.counts.trials;
  }
  return lines.end();
}

}  // namespace fettle::records
