// Connecting to a PostgreSQL server (postgres_connect.h). Never by the blocking call: it knows no
// Ctrl-C, and a host that drops packets holds it for minutes.
#include "host/records/postgres_connect.h"

#include <poll.h>

#include <array>

namespace fettle::records {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kSlice{100};
constexpr std::chrono::seconds kPatience{1};  // a server that is there has answered by then

PostgresAnswer refused(ErrorCode code, const std::string& message) {
  return {nullptr, {Trouble::Final, {code, message, {}}}};
}

// What the URL does not say otherwise: a server that is gone is noticed within half a minute.
PostgresHandle begin(const std::string& url) {
  constexpr std::array kNames{"keepalives_idle",           "keepalives_interval",
                              "keepalives_count",          "tcp_user_timeout",
                              "fallback_application_name", "dbname",
                              "client_encoding",           static_cast<const char*>(nullptr)};
  const std::array values{"10",     "5",         "3",    "30000",
                          "fettle", url.c_str(), "UTF8", static_cast<const char*>(nullptr)};
  return PostgresHandle(PQconnectStartParams(kNames.data(), values.data(), 1));
}

// True: the socket is ready for what libpq asked for. Waits a slice of time at most.
bool ready(PGconn* connection, PostgresPollingStatusType asked) {
  pollfd at{PQsocket(connection),
            static_cast<short>(asked == PGRES_POLLING_READING ? POLLIN : POLLOUT), 0};
  return ::poll(&at, 1, static_cast<int>(kSlice.count())) > 0;
}

// Of the session: who else writes is waited for so long, and one that stands still with a
// transaction open (a stopped process, a lost host) does not hold the others for ever.
std::string settings(const PostgresLogin& login) {
  return "SET lock_timeout = " + std::to_string(login.lock_wait.count()) +
         "; SET idle_in_transaction_session_timeout = 60000; SET extra_float_digits = 3; "
         "SET default_transaction_isolation = 'read committed'" +
         (login.read_only ? "; SET default_transaction_read_only = on" : "");
}

PostgresAnswer set_up(PostgresHandle handle, const PostgresLogin& login) {
  PGconn* connection = handle.get();
  const std::string name = "record database '" + login.shown + "'";
  if (const int version = PQserverVersion(connection) / 10000; version < kOldestPostgres) {
    const char* full = PQparameterStatus(connection, "server_version");
    return refused(ErrorCode::VersionMismatch,
                   name + ": its server is PostgreSQL " +
                       (full != nullptr ? full : std::to_string(version)) + ", fettle needs " +
                       std::to_string(kOldestPostgres) + " or later: upgrade it, or name another");
  }
  const char* encoding = PQparameterStatus(connection, "server_encoding");
  if (encoding == nullptr || std::string(encoding) != "UTF8") {
    return refused(ErrorCode::Unsupported,
                   name + " keeps its texts as " + (encoding != nullptr ? encoding : "?") +
                       ", fettle needs UTF8: make one with createdb --encoding UTF8 --template "
                       "template0");
  }
  const std::unique_ptr<PGresult, decltype(&PQclear)> set(
      PQexec(connection, settings(login).c_str()), PQclear);
  if (PQresultStatus(set.get()) != PGRES_COMMAND_OK) {
    return {nullptr, refused_statement(connection, set.get(), login.shown, 0)};
  }
  return {std::move(handle), {}};
}

}  // namespace

PostgresAnswer connect_postgres(const PostgresLogin& login) {
  PostgresHandle handle = begin(login.url);
  PGconn* connection = handle.get();
  if (connection == nullptr) return refused(ErrorCode::OutOfMemory, "libpq could not be started");
  // The verbose form has the code of a refusal, in whatever language it is written.
  PQsetErrorVerbosity(connection, PQERRORS_VERBOSE);
  PQsetNoticeProcessor(connection, [](void*, const char*) {}, nullptr);
  const Clock::time_point start = Clock::now();
  if (PQstatus(connection) == CONNECTION_BAD) {
    return {nullptr, refused_connection(connection, login.shown)};
  }
  for (PostgresPollingStatusType asked = PGRES_POLLING_WRITING; asked != PGRES_POLLING_OK;) {
    const bool go_on = ready(connection, asked);
    const auto waited = Clock::now() - start;
    if (waited > kPatience && login.give_up && login.give_up()) {
      return refused(ErrorCode::Canceled,
                     "interrupted while connecting to record database '" + login.shown + "'");
    }
    if (waited > login.most) {
      return {nullptr,
              {Trouble::Lost,
               {ErrorCode::Unreachable,
                "record database '" + login.shown + "' cannot be reached: no answer within " +
                    std::to_string(login.most.count()) +
                    " s: is the server running, and is its name right?",
                {}}}};
    }
    if (!go_on) continue;
    asked = PQconnectPoll(connection);
    if (asked == PGRES_POLLING_FAILED) {
      return {nullptr, refused_connection(connection, login.shown)};
    }
  }
  return set_up(std::move(handle), login);
}

}  // namespace fettle::records
