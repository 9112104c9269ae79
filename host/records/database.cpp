// Opening, transactions, and trials in and out of the record database.
#include "host/records/database.h"

#include <algorithm>

#include "host/records/outcome_json.h"

namespace fettle::records {
const char* const kTrialColumns =
    "SELECT t.id, s.session, w.canonical, w.hash, g.canonical, t.configuration, d.device_key, "
    "d.board_id, t.program_hash, t.unix_ms, t.operations, t.peak_gflops, t.build_ns, t.reused, "
    "t.outcome, d.emulated, t.device_id, w.title, w.source, t.confirmed_ns "
    "FROM trials t JOIN sessions s ON s.id = t.session_id JOIN workloads w ON w.id = t.workload_id "
    "JOIN targets g ON g.id = t.target_id JOIN devices d ON d.id = t.device_id ";

Result<TuningRecord> read_trial(const Statement& row) {
  TuningRecord r;
  r.id = row.integer(0);
  r.session = row.text(1);
  r.workload = row.text(2);
  r.workload_hash = row.text(3);
  r.target = row.text(4);
  r.configuration = row.text(5);
  r.device_key = row.text(6);
  r.board_id = row.text(7);
  r.program_hash = row.text(8);
  r.unix_ms = row.integer(9);
  r.operations = row.real(10);
  r.peak_gflops = row.real(11);
  r.build_ns = static_cast<std::uint64_t>(row.integer(12));
  r.reused = row.integer(13) != 0;
  const auto where = [&] {
    const std::string id = std::to_string(r.id);
    return "reading trial " + id + "; without its row (DELETE FROM trials WHERE id = " + id +
           ") the others can be read";
  };
  Result<Json> json = parse_json(row.text(14));
  if (!json) return std::move(json).error().in(where());
  Result<wire::OutcomeT> outcome = outcome_from_json(*json);
  if (!outcome) return std::move(outcome).error().in(where());
  r.outcome = std::move(*outcome);
  r.emulated = row.integer(15) != 0;
  r.device_row = row.integer(16);
  r.title = row.text(17);
  r.source = row.text(18);
  if (!row.is_null(19)) r.confirmed_nanoseconds = row.real(19);
  return r;
}

Result<Database> Database::open(const std::string& path, const OpenOptions& options) {
  Result<std::unique_ptr<Connection>> connection = open_checked(path, options);
  if (!connection) return std::move(connection).error();
  return Database(std::move(*connection));
}

Result<void> Database::atomically(const std::function<Result<void>()>& work, Writers writers) {
  if (connection_->in_transaction()) return work();  // part of a larger one: its end decides
  for (;;) {
    Result<void> done = [&]() -> Result<void> {
      Result<Transaction> transaction = Transaction::begin(*connection_, writers);
      if (!transaction) return std::move(transaction).error();
      if (Result<void> worked = work(); !worked) return worked;
      return transaction->commit();
    }();
    if (done) return done;
    ids_.clear();  // some of them may be rolled back
    if (Result<void> again = connection_->recover(std::move(done).error()); !again) return again;
  }
}

Result<std::int64_t> Database::row_of(const char* select, const char* add,
                                      std::initializer_list<std::string> values) {
  std::string key = select;
  for (const std::string& value : values) (key += '\0') += value;
  if (const auto seen = ids_.find(key); seen != ids_.end()) return seen->second;
  const auto number_by = [&](const char* sql) -> Result<std::optional<std::int64_t>> {
    Result<Statement> statement = connection_->prepare(sql);
    if (!statement) return std::move(statement).error();
    int at = 0;
    for (const std::string& value : values) statement->bind(++at, value);
    return statement->run_for_number();
  };
  // The second look: another session has added it meanwhile.
  for (const char* sql : {select, add, select}) {
    Result<std::optional<std::int64_t>> id = number_by(sql);
    if (!id) return std::move(id).error();
    if (!*id) continue;
    ids_.emplace(std::move(key), **id);
    return **id;
  }
  return Error{ErrorCode::Internal, "a row that is neither there nor can be added: " + path(), {}};
}

Result<std::int64_t> Database::workload_row(const TuningRecord& r) {
  const std::size_t known = ids_.size();
  Result<std::int64_t> id = row_of("SELECT id FROM workloads WHERE canonical = ?1 AND hash = ?2",
                                   "INSERT INTO workloads (canonical, hash) VALUES (?1, ?2) "
                                   "ON CONFLICT DO NOTHING RETURNING id",
                                   {r.workload, r.workload_hash});
  if (!id || ids_.size() == known || r.title.empty()) return id;
  Result<Statement> describe = connection_->prepare(
      "UPDATE workloads SET title = ?2, source = ?3 WHERE id = ?1 AND title = ''");
  if (!describe) return std::move(describe).error();
  describe->bind(1, *id).bind(2, r.title).bind(3, r.source);
  if (Result<void> done = describe->run(); !done) return std::move(done).error();
  return id;
}

// The copy that was stored first may be from before the finals, or from before later ones.
Result<Database::Inserted> Database::known_again(std::int64_t id, const TuningRecord& r,
                                                 Confirmed stays) {
  if (!r.confirmed_nanoseconds) return Inserted{id, false, false};
  const char* const other = stays == Confirmed::Latest ? " OR confirmed_ns <> ?2" : "";
  Result<Statement> put = connection_->prepare(
      std::string("UPDATE trials SET confirmed_ns = ?2 WHERE id = ?1 AND nanoseconds IS NOT NULL "
                  "AND (confirmed_ns IS NULL") +
      other + ") RETURNING id");
  if (!put) return std::move(put).error();
  const auto changed = put->bind(1, id).bind(2, *r.confirmed_nanoseconds).run_for_number();
  if (!changed) return changed.error();
  return Inserted{id, false, changed->has_value()};
}

Result<Database::Inserted> Database::insert_one(const TuningRecord& r, std::int64_t device_row,
                                                Confirmed stays) {
  Result<std::int64_t> session =
      row_of("SELECT id FROM sessions WHERE session = ?1",
             "INSERT INTO sessions (session, state) VALUES (?1, 'unknown') "
             "ON CONFLICT DO NOTHING RETURNING id",
             {r.session});
  if (!session) return std::move(session).error();
  Result<std::int64_t> workload = workload_row(r);
  if (!workload) return std::move(workload).error();
  Result<std::int64_t> target = row_of("SELECT id FROM targets WHERE canonical = ?1",
                                       "INSERT INTO targets (canonical) VALUES (?1) "
                                       "ON CONFLICT DO NOTHING RETURNING id",
                                       {r.target});
  if (!target) return std::move(target).error();
  Result<std::int64_t> device = device_row != 0
                                    ? Result<std::int64_t>(device_row)
                                    : device_id(r.device_key, r.board_id, r.outcome.device_index);
  if (!device) return std::move(device).error();

  if (!find_) {
    Result<Statement> prepared = connection_->prepare(
        "SELECT id FROM trials WHERE session_id = ?2 AND workload_id = ?3 AND target_id = ?4 AND "
        "device_id IN (" +
        std::string(kStatesOfDevice) + ") AND configuration = ?5 AND unix_ms = ?6");
    if (!prepared) return std::move(prepared).error();
    find_ = std::move(*prepared);
  }
  find_->bind(1, *device).bind(2, *session).bind(3, *workload).bind(4, *target);
  const auto known = find_->bind(5, r.configuration).bind(6, r.unix_ms).run_for_number();
  if (!known) return known.error();
  if (*known) return known_again(**known, r, stays);

  if (!insert_) {
    Result<Statement> prepared = connection_->prepare(
        "INSERT INTO trials (session_id, workload_id, target_id, device_id, configuration, "
        "program_hash, unix_ms, operations, peak_gflops, build_ns, nanoseconds, censored, clock, "
        "stage, code, message, outcome, reused, confirmed_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, "
        "?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19) RETURNING id");
    if (!prepared) return std::move(prepared).error();
    insert_ = std::move(*prepared);
  }
  Statement& put = *insert_;
  put.bind(1, *session).bind(2, *workload).bind(3, *target).bind(4, *device);
  put.bind(5, r.configuration).bind(6, r.program_hash).bind(7, r.unix_ms);
  put.bind(8, r.operations).bind(9, r.peak_gflops);
  put.bind(10, static_cast<std::int64_t>(r.build_ns)).bind(11, r.nanoseconds());
  const wire::MeasurementT* measured = r.measurement();
  put.bind(12, std::int64_t{measured != nullptr && measured->censored});
  if (measured != nullptr) {
    put.bind(13, std::string_view(wire::EnumNameClockDomain(measured->clock)));
  } else if (const wire::FailureT* failure = r.failure(); failure != nullptr && failure->error) {
    put.bind(14, std::string_view(fettle::name_of(failure->stage)));
    put.bind(15, std::string_view(fettle::name_of(failure->error->code)));
    put.bind(16, failure->error->message);
  } else {
    put.reset();
    return Error{
        ErrorCode::InvalidArgument, "a record needs a measurement or a failure with its error", {}};
  }
  put.bind(18, std::int64_t{r.reused}).bind(19, r.confirmed_nanoseconds);
  put.bind(17, dump_json(to_json(r.outcome)));
  const auto added = put.run_for_number();
  if (!added) return added.error();
  return Inserted{added->value(), true, false};
}

Result<std::int64_t> Database::insert(const TuningRecord& record) {
  std::int64_t id = 0;
  Result<void> done = atomically(
      [&]() -> Result<void> {
        Result<Inserted> inserted = insert_one(record);
        if (!inserted) return std::move(inserted).error();
        id = inserted->id;
        return {};
      },
      Writers::Many);
  if (!done) return std::move(done).error().in("storing a trial");
  return id;
}

Result<Database::Imported> Database::import(const TuningRecord& record, std::int64_t device_row) {
  Imported all;
  Result<void> done = atomically([&]() -> Result<void> {
    Result<Inserted> inserted = insert_one(record, device_row, Confirmed::Latest);
    if (!inserted) return std::move(inserted).error();
    all.added = all.added || inserted->added;  // now, or in a try before
    all.confirmed = !all.added && (all.confirmed || inserted->confirmed);
    return {};
  });
  if (!done) return std::move(done).error().in("storing a trial");
  return all;
}

Result<std::size_t> Database::insert(std::span<const TuningRecord> records) {
  std::size_t added = 0, now = 0;
  Result<void> done = atomically([&]() -> Result<void> {
    now = 0;
    for (const TuningRecord& record : records) {
      Result<Inserted> inserted = insert_one(record);
      if (!inserted) return std::move(inserted).error();
      now += inserted->added ? 1 : 0;
    }
    added = std::max(added, now);  // by the first try, if its commit happened
    return {};
  });
  if (!done) return std::move(done).error().in("storing trials");
  return added;
}

Result<void> Database::confirm(std::span<const Confirmation> confirmations) {
  Result<void> done = atomically([&]() -> Result<void> {
    Result<Statement> put = connection_->prepare(
        "UPDATE trials SET confirmed_ns = ?5 WHERE session_id IN (SELECT id FROM sessions WHERE "
        "session = ?1) AND workload_id IN (SELECT id FROM workloads WHERE canonical = ?2) AND "
        "target_id IN (SELECT id FROM targets WHERE canonical = ?3) AND program_hash = ?4 AND "
        "nanoseconds IS NOT NULL");
    if (!put) return std::move(put).error();
    for (const Confirmation& one : confirmations) {
      put->bind(1, one.session).bind(2, one.workload).bind(3, one.target);
      put->bind(4, one.program_hash).bind(5, one.nanoseconds);
      if (Result<void> stored = put->run(); !stored) return stored;
    }
    return {};
  });
  if (!done) return std::move(done).error().in("storing what the fastest programs take");
  return {};
}

Result<TuningRecord> Database::get(std::int64_t id) const {
  Result<Statement> find = connection_->prepare(std::string(kTrialColumns) + "WHERE t.id = ?1");
  if (!find) return std::move(find).error();
  Result<bool> row = find->bind(1, id).step();
  if (!row) return std::move(row).error();
  if (!*row) {
    return Error{
        ErrorCode::NotFound, "no record " + std::to_string(id) + " in '" + path() + "'", {}};
  }
  return read_trial(*find);
}

const char* const kFilter =
    "t.id > ?1 AND (?2 = '' OR w.canonical = ?2) AND (?3 = '' OR g.canonical = ?3) AND "
    "(?4 = '' OR d.device_key = ?4) AND (?5 = '' OR d.board_id = ?5) AND "
    "(?6 = '' OR s.session = ?6) AND (?7 = 0 OR t.stage IS NULL) AND "
    "(?8 < 0 OR d.emulated = ?8) AND (?9 = '' OR t.clock IS NULL OR t.clock = ?9) AND "
    "(?10 < 0 OR t.clock IS NULL OR "
    "CASE WHEN json_extract(t.outcome, '$.measurement.weights_bytes') IS NULL THEN 0 ELSE 1 END "
    "= ?10)";

void bind_filter(Statement& statement, const Filter& filter) {
  const auto choice = [](std::optional<bool> of) { return std::int64_t{of ? *of : -1}; };
  statement.bind(1, filter.after_id).bind(2, filter.workload).bind(3, filter.target);
  statement.bind(4, filter.device_key).bind(5, filter.board_id).bind(6, filter.session);
  statement.bind(7, std::int64_t{filter.measured_only}).bind(8, choice(filter.emulated));
  statement.bind(9, std::string_view(filter.clock ? wire::EnumNameClockDomain(*filter.clock) : ""));
  statement.bind(10, choice(filter.cold_weights));
}

Result<void> Database::for_each(const Filter& filter,
                                const std::function<bool(const TuningRecord&)>& visit) const {
  Result<Statement> all =
      connection_->prepare(std::string(kTrialColumns) + "WHERE " + kFilter + " ORDER BY t.id");
  if (!all) return std::move(all).error();
  bind_filter(*all, filter);
  for (;;) {
    Result<bool> row = all->step();
    if (!row) return std::move(row).error();
    if (!*row) return {};
    Result<TuningRecord> record = read_trial(*all);
    if (!record) return std::move(record).error();
    if (!visit(*record)) return {};
  }
}

}  // namespace fettle::records
