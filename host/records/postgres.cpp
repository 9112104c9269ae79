// Transactions on a PostgreSQL server, and what is done while it is away (postgres.h).
#include "host/records/postgres.h"

#include <algorithm>
#include <thread>

#include "host/records/dialect.h"
#include "host/records/postgres_statement.h"

namespace fettle::records {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

// The advisory lock of all who write records: shared, or alone. "FETL".
constexpr const char* kLock = "1178948684";
constexpr seconds kSayAgain{30}, kPatience{1};
constexpr int kMostTries = 50;
constexpr milliseconds kFirstPause{100}, kLongestPause{2000}, kSlice{50};

}  // namespace

PostgresConnection::PostgresConnection(PostgresOptions options)
    : Connection(options.login.shown), options_(std::move(options)) {}

PostgresConnection::~PostgresConnection() = default;

Result<std::unique_ptr<PostgresConnection>> PostgresConnection::open(PostgresOptions options) {
  std::unique_ptr<PostgresConnection> made(new PostgresConnection(std::move(options)));
  PostgresAnswer answer = connect_postgres(made->options_.login);
  if (!answer.handle) return std::move(answer.refusal.error);
  made->handle_ = std::move(answer.handle);
  return made;
}

std::string PostgresConnection::role() const {
  const char* user = PQuser(handle());
  return user == nullptr ? "" : user;
}

Result<Statement> PostgresConnection::prepare(std::string_view sql) const {
  return Statement(std::make_unique<PostgresStatement>(this, postgres_query(sql)));
}

Result<void> PostgresConnection::execute(const char* sql) const {
  take_all();
  std::optional<Error> error;
  if (PQsendQuery(handle(), sql) != 1) error = refused(nullptr);
  while (!error) {
    const PostgresResult result(PQgetResult(handle()), PQclear);
    if (!result) return {};
    if (PQresultStatus(result.get()) == PGRES_FATAL_ERROR) error = refused(result.get());
  }
  while (PGresult* rest = PQgetResult(handle())) PQclear(rest);
  return std::move(*error);
}

void PostgresConnection::take_all() const {
  if (reading_ != nullptr) reading_->take_all();
}

Error PostgresConnection::refused(const PGresult* result) const {
  Refusal refusal = refused_statement(handle(), result, path(), options_.login.lock_wait.count());
  trouble_ = refusal.trouble;
  return std::move(refusal.error);
}

Result<void> PostgresConnection::begin(Writers writers) const {
  trouble_ = Trouble::Final;
  const std::string lock =
      writers == Writers::Many ? "pg_advisory_xact_lock_shared" : "pg_advisory_xact_lock";
  const std::string sql = "BEGIN; SELECT " + lock + "(" + kLock + ")";
  in_transaction_ = true;
  Result<void> begun = execute(sql.c_str());
  if (!begun) roll_back();
  return begun;
}

Result<void> PostgresConnection::commit() const {
  take_all();
  const PostgresResult done(PQexec(handle(), "COMMIT"), PQclear);
  if (PQresultStatus(done.get()) != PGRES_COMMAND_OK) return refused(done.get());
  in_transaction_ = false;
  tries_ = 0;
  if (std::string_view(PQcmdStatus(done.get())) == "COMMIT") return {};
  // One in which something failed is rolled back by it.
  return Error{ErrorCode::Internal, "record database '" + path() + "': nothing was committed", {}};
}

void PostgresConnection::roll_back() const {
  if (!in_transaction_) return;
  in_transaction_ = false;
  const Trouble trouble = trouble_;
  if (PQstatus(handle()) == CONNECTION_OK) (void)execute("ROLLBACK");
  trouble_ = trouble;
}

Result<void> PostgresConnection::recover(Error error) const {
  const Trouble trouble = std::exchange(trouble_, Trouble::Final);
  if (trouble == Trouble::Final) return error;
  const Clock::time_point now = Clock::now();
  if (tries_++ == 0) first_try_ = now;
  const bool waited = error.code == ErrorCode::Timeout;  // already: for a lock
  if (tries_ > 1 && (now - first_try_ > options_.server_wait || (!waited && tries_ > kMostTries))) {
    tries_ = 0;
    return error;
  }
  // A server that lets in and drops again is not asked without a pause.
  if (!waited) std::this_thread::sleep_for(std::min(kLongestPause, kFirstPause * (tries_ - 1)));
  if (trouble == Trouble::Lost) {
    Result<void> back = wait_for_server();
    if (!back) tries_ = 0;
    return back;
  }
  if (options_.login.give_up && options_.login.give_up()) return error;
  if (options_.say && waited) {
    options_.say("waiting for the " + error.message + "; trying again");
  }
  return {};
}

Result<void> PostgresConnection::wait_for_server() const {
  const Clock::time_point start = Clock::now();
  Clock::time_point said{};
  for (milliseconds pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
    PostgresAnswer answer = connect_postgres(options_.login);
    if (answer.handle) {
      handle_ = std::move(answer.handle);
      if (said != Clock::time_point{} && options_.say) {
        options_.say("record database '" + path() + "' is back");
      }
      return {};
    }
    if (answer.refusal.trouble != Trouble::Lost) return std::move(answer.refusal.error);
    const Clock::time_point now = Clock::now();
    const auto waited = duration_cast<seconds>(now - start);
    if (now - start >= options_.server_wait) {
      Error error = std::move(answer.refusal.error);
      error.message += " (waited " + std::to_string(waited.count()) +
                       " s for it; every trial stored before is safe: --resume goes on)";
      return error;
    }
    if (options_.say && (said == Clock::time_point{} || now - said > kSayAgain)) {
      options_.say("waiting for the record database '" + path() + "' (for " +
                   std::to_string(waited.count()) + " s, at most " +
                   std::to_string(options_.server_wait.count()) +
                   " s): " + answer.refusal.error.message);
      said = now;
    }
    for (milliseconds slept{0}; slept < pause; slept += kSlice) {
      std::this_thread::sleep_for(kSlice);
      if (Clock::now() - start > kPatience && options_.login.give_up && options_.login.give_up()) {
        return Error{ErrorCode::Canceled,
                     "interrupted while waiting for " + answer.refusal.error.message,
                     {}};
      }
    }
  }
}

}  // namespace fettle::records
