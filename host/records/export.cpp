// JSON lines out and in. Import runs in one transaction.
#include "host/records/export.h"

#include <cerrno>
#include <cstring>
#include <istream>
#include <ostream>
#include <set>

#include "host/records/queries.h"
#include "host/records/record_json.h"

namespace fettle::records {
namespace {

constexpr std::size_t kLineBytes = std::size_t{64} << 20;

class Lines {
 public:
  explicit Lines(std::ostream& out) : out_(out) { errno = 0; }
  void put(const Json& json) {
    out_ << dump_json(json) << '\n';
    ++counts.lines;
  }
  Result<LineCounts> end() {
    out_.flush();
    if (out_) return counts;
    const bool full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
    return Error{full ? ErrorCode::DiskFull : ErrorCode::Io,
                 full ? std::string("disk full: the export is cut off; the database is untouched: "
                                    "free some space and export again")
                      : std::string("the export could not be written: ") + std::strerror(errno),
                 {}};
  }
  LineCounts counts;

 private:
  std::ostream& out_;
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

void put(Lines& lines, const Context& context) {
  for (const DeviceRow& device : context.devices) lines.put(to_json(device));
  for (const Session& session : context.sessions) lines.put(to_json(session));
  for (const Calibration& calibration : context.calibrations) lines.put(to_json(calibration));
}

bool is_everything(const Filter& f) {
  return f.workload.empty() && f.target.empty() && f.device_key.empty() && f.board_id.empty() &&
         f.session.empty() && f.after_id == 0 && !f.measured_only;
}

Result<void> import_line(Database& database, const std::string& text, LineCounts& counts) {
  if (text.size() > kLineBytes) {
    return Error{ErrorCode::TooLarge,
                 "longer than " + std::to_string(kLineBytes >> 20) + " MiB: not an export",
                 {}};
  }
  Result<Json> json = parse_json(text);
  if (!json) return std::move(json).error();
  std::int64_t version = 0;
  std::string kind;
  Fields fields(*json, "the line");
  fields.get("fettle", version);
  if (fields.done() && version != kLineVersion) {
    return Error{ErrorCode::VersionMismatch,
                 "format version " + std::to_string(version) + ", this fettle reads version " +
                     std::to_string(kLineVersion) + ": use the fettle that wrote it",
                 {}};
  }
  fields.get("kind", kind);
  if (Result<void> done = fields.done(); !done) return done;
  ++counts.lines;
  if (kind == "trial") {
    Result<TuningRecord> record = record_from_json(*json);
    if (!record) return std::move(record).error();
    Result<std::size_t> added = database.insert(std::span(&*record, 1));
    if (!added) return std::move(added).error();
    ++counts.trials;
    counts.added += *added;
    return {};
  }
  if (kind == "session") {
    Result<Session> session = session_from_json(*json);
    if (!session) return std::move(session).error();
    // Its process is not ours to watch: a session exported while it ran has no end here.
    if (session->state == SessionState::Running) session->state = SessionState::Unknown;
    Result<bool> added = database.put_session(*session);
    if (!added) return std::move(added).error();
    return {};
  }
  if (kind == "device") {
    Result<DeviceRow> device = device_from_json(*json);
    if (!device) return std::move(device).error();
    return database.put_device(*device);
  }
  if (kind == "calibration") {
    Result<Calibration> calibration = calibration_from_json(*json);
    if (!calibration) return std::move(calibration).error();
    return database.put_calibration(*calibration);
  }
  return Error{ErrorCode::Malformed, "unknown kind '" + kind + "'", {}};
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
  Result<void> read = database.for_each(filter, [&](const TuningRecord& record) {
    lines.put(to_json(record));
    ++lines.counts.trials;
    return out.good();
  });
  if (!read) return std::move(read).error();
  return lines.end();
}

Result<LineCounts> import_lines(Database& database, std::istream& in, const std::string& source) {
  LineCounts counts;
  std::size_t number = 0;
  Result<void> done = database.atomically([&]() -> Result<void> {
    std::string text;
    while (std::getline(in, text)) {
      ++number;
      if (!text.empty() && text.back() == '\r') text.pop_back();
      if (text.empty()) continue;
      if (Result<void> imported = import_line(database, text, counts); !imported) {
        Error error = std::move(imported).error();
        if (error.code == ErrorCode::Malformed || error.code == ErrorCode::VersionMismatch ||
            error.code == ErrorCode::TooLarge || error.code == ErrorCode::InvalidArgument) {
          error.message = source + ":" + std::to_string(number) + ": " + error.message +
                          "; nothing was imported";
        }
        return error;
      }
    }
    if (in.bad()) return Error{ErrorCode::Io, "'" + source + "' could not be read", {}};
    return {};
  });
  if (!done) return std::move(done).error();
  return counts;
}

Result<LineCounts> distill(const Database& from, const Filter& filter, int k, Database& to) {
  Context context;
  Result<std::vector<TuningRecord>> records = best_with_context(from, filter, k, context);
  if (!records) return std::move(records).error();
  LineCounts counts;
  Result<void> done = to.atomically([&]() -> Result<void> {
    for (const DeviceRow& device : context.devices) {
      if (Result<void> put = to.put_device(device); !put) return put;
    }
    for (const Session& session : context.sessions) {
      if (Result<bool> put = to.put_session(session); !put) return std::move(put).error();
    }
    for (const Calibration& calibration : context.calibrations) {
      if (Result<void> put = to.put_calibration(calibration); !put) return put;
    }
    Result<std::size_t> added = to.insert(*records);
    if (!added) return std::move(added).error();
    counts.added = *added;
    return {};
  });
  if (!done) return std::move(done).error();
  counts.trials = records->size();
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
    lines.put(to_json(record));
    ++lines.counts.trials;
  }
  return lines.end();
}

}  // namespace fettle::records
