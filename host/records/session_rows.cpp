// Sessions in the database: begun, ended, found dead.
#include <chrono>
#include <utility>

#include "host/records/database.h"

namespace fettle::records {
namespace {

std::int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

Session read_session(const Statement& row) {
  Session s;
  s.session = row.text(0);
  s.name = row.text(1);
  s.device_key = row.text(2);
  s.options = row.text(3);
  s.seed = std::strtoull(row.text(4).c_str(), nullptr, 10);
  s.software = row.text(5);
  s.started_ms = row.integer(6);
  if (!row.is_null(7)) s.ended_ms = row.integer(7);
  s.state = session_state(row.text(8)).value_or(SessionState::Unknown);
  s.reason = row.text(9);
  const ProcessIdentity owner{row.text(10), row.text(11)};
  if (s.state == SessionState::Running && !may_be_alive(owner)) s.state = SessionState::Killed;
  return s;
}

constexpr const char* kSelectSessions =
    "SELECT session, name, device_key, options, seed, software, started_ms, ended_ms, state, "
    "reason, host, process FROM sessions ORDER BY id";

}  // namespace

Result<void> Database::mark_killed() {
  Result<Statement> running = connection_->prepare(
      "SELECT id, host, process FROM sessions WHERE state = 'running' ORDER BY id");
  if (!running) return std::move(running).error();
  std::vector<std::int64_t> gone;
  for (;;) {
    Result<bool> row = running->step();
    if (!row) return std::move(row).error();
    if (!*row) break;
    if (!may_be_alive({running->text(1), running->text(2)})) gone.push_back(running->integer(0));
  }
  // It ended, as far as anyone can tell, with its last trial.
  Result<Statement> mark = connection_->prepare(
      "UPDATE sessions SET state = 'killed', reason = 'its process died without closing it', "
      "ended_ms = (SELECT max(unix_ms) FROM trials WHERE session_id = sessions.id) WHERE id = ?1");
  if (!mark) return std::move(mark).error();
  for (const std::int64_t id : gone) {
    if (Result<void> done = mark->bind(1, id).run(); !done) return done;
  }
  return {};
}

Result<void> Database::begin_session(Session session) {
  if (session.started_ms == 0) session.started_ms = now_ms();
  session.state = SessionState::Running;
  session.ended_ms.reset();
  const ProcessIdentity self = this_process();
  bool again = false;
  return atomically(
      [&]() -> Result<void> {
        const bool first = !std::exchange(again, true);
        if (Result<void> marked = mark_killed(); !marked) return marked;
        Result<bool> added = put_session(session);
        if (!added) return std::move(added).error();
        Result<Statement> own = connection_->prepare(
            "UPDATE sessions SET host = ?1, process = ?2 WHERE session = ?3 AND (?4 = 1 OR (host = "
            "?1 AND process = ?2)) RETURNING id");
        if (!own) return std::move(own).error();
        own->bind(1, self.host).bind(2, self.process).bind(3, session.session);
        const auto owned = own->bind(4, std::int64_t{*added}).run_for_number();
        if (!owned) return owned.error();
        // A try before this one may have stored it.
        if (*owned && (*added || !first)) return {};
        return Error{ErrorCode::InvalidArgument,
                     "session " + session.session + " is already in '" + path() + "'",
                     {}};
      },
      Writers::Many);
}

Result<void> Database::end_session(const std::string& session, SessionState how,
                                   const std::string& reason, std::int64_t ended_ms) {
  return atomically(
      [&]() -> Result<void> {
        Result<Statement> end = connection_->prepare(
            "UPDATE sessions SET state = ?1, reason = ?2, ended_ms = ?3 WHERE session = ?4 "
            "RETURNING id");
        if (!end) return std::move(end).error();
        end->bind(1, std::string_view(name_of(how))).bind(2, reason);
        const auto ended = end->bind(3, ended_ms).bind(4, session).run_for_number();
        if (!ended) return ended.error();
        if (*ended) return {};
        return Error{ErrorCode::NotFound, "no session " + session + " in '" + path() + "'", {}};
      },
      Writers::Many);
}

Result<std::vector<Session>> Database::sessions() const {
  Result<Statement> all = connection_->prepare(kSelectSessions);
  if (!all) return std::move(all).error();
  std::vector<Session> sessions;
  for (;;) {
    Result<bool> row = all->step();
    if (!row) return std::move(row).error();
    if (!*row) return sessions;
    sessions.push_back(read_session(*all));
  }
}

Result<bool> Database::put_session(const Session& s) {
  // A row that only trials knew of gets its facts now.
  Result<Statement> put = connection_->prepare(
      "INSERT INTO sessions (session, name, device_key, options, seed, software, started_ms, "
      "ended_ms, state, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) "
      "ON CONFLICT (session) DO UPDATE SET name = ?2, device_key = ?3, options = ?4, seed = ?5, "
      "software = ?6, started_ms = ?7, ended_ms = ?8, state = ?9, reason = ?10 "
      "WHERE sessions.state = 'unknown' RETURNING id");
  if (!put) return std::move(put).error();
  put->bind(1, s.session).bind(2, s.name).bind(3, s.device_key).bind(4, s.options);
  put->bind(5, std::to_string(s.seed)).bind(6, s.software).bind(7, s.started_ms);
  if (s.ended_ms)
    put->bind(8, *s.ended_ms);
  else
    put->bind_null(8);
  put->bind(9, std::string_view(name_of(s.state))).bind(10, s.reason);
  const auto row = put->run_for_number();
  if (!row) return row.error();
  return row->has_value();
}

}  // namespace fettle::records
