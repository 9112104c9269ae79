// Refusals of a PostgreSQL server (postgres_errors.h; the codes are in the manual's appendix A).
#include "host/records/postgres_errors.h"

#include <algorithm>
#include <cctype>

namespace fettle::records {
namespace {

std::string one_line(const char* text) {
  std::string line = text == nullptr ? "" : text;
  // The verbose form, which has the code, tells where in the server's source it stands.
  if (const std::size_t at = line.find("\nLOCATION:"); at != std::string::npos) line.resize(at);
  if (const std::size_t at = line.find("\n\tIs the server running"); at != std::string::npos) {
    line.resize(at);  // asked below
  }
  while (!line.empty() && line.back() == '\n') line.pop_back();
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

// "… FATAL:  28P01: password …": the code of a refused connection is nowhere else. Takes it out.
std::string take_code(std::string& text) {
  constexpr std::size_t kCode = 5;
  for (std::size_t at = text.find(":  "); at != std::string::npos; at = text.find(":  ", at + 1)) {
    const std::string code = text.substr(at + 3, kCode);
    const bool plain = std::all_of(code.begin(), code.end(), [](unsigned char c) {
      return std::isdigit(c) != 0 || std::isupper(c) != 0;
    });
    if (code.size() != kCode || !plain || text.compare(at + 3 + kCode, 2, ": ") != 0) continue;
    text.erase(at + 2, kCode + 2);
    return code;
  }
  return {};
}

bool tells_of_loss(std::string_view code) {
  return code.starts_with("57P") || code.starts_with("08") || code == "25P03";
}

std::string text_or(const char* text, const char* otherwise) {
  return text == nullptr || *text == '\0' ? otherwise : text;
}

}  // namespace

Refusal refused_connection(PGconn* connection, const std::string& shown) {
  std::string text = one_line(PQerrorMessage(connection));
  const std::string code = take_code(text);
  const std::string name = "record database '" + shown + "'";
  const std::string role = text_or(PQuser(connection), "?");
  if (code == "28P01" || code == "28000" || PQconnectionNeedsPassword(connection) != 0) {
    const bool none = PQconnectionNeedsPassword(connection) != 0;
    return {Trouble::Final,
            {ErrorCode::Unauthorized,
             name +
                 (none ? ": the server wants a password of role '" + role + "'"
                       : " does not let role '" + role + "' in (" + text + ")") +
                 ": put the right one into ~/.pgpass or PGPASSWORD, or name another role",
             {}}};
  }
  if (code == "42501") {
    return {Trouble::Final,
            {ErrorCode::Unauthorized,
             name + " does not let role '" + role + "' in (" + text + ")",
             {}}};
  }
  if (code == "3D000") {
    const std::string database = text_or(PQdb(connection), "?");
    return {Trouble::Final,
            {ErrorCode::NotFound,
             name + ": the server has no database '" + database +
                 "': whoever may make databases there makes it with createdb " + database,
             {}}};
  }
  if (code.starts_with("57P")) {
    return {Trouble::Lost,
            {ErrorCode::Unreachable,
             name + ": the server is starting or being shut down (" + text + "): try again soon",
             {}}};
  }
  if (code.starts_with("53")) {
    return {Trouble::Lost,
            {ErrorCode::Unreachable,
             name + ": the server takes no more connections (" + text + ")",
             {}}};
  }
  if (!code.empty()) {
    return {Trouble::Final, {ErrorCode::Io, name + " cannot be opened: " + text, {}}};
  }
  return {Trouble::Lost,
          {ErrorCode::Unreachable,
           name + " cannot be reached: " + text + ": is the server running, and is its name right?",
           {}}};
}

Refusal refused_statement(PGconn* connection, const PGresult* result, const std::string& shown,
                          long lock_wait_ms) {
  const std::string name = "record database '" + shown + "'";
  const char* field = result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string code = field == nullptr ? "" : field;
  const char* primary =
      result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const std::string text = one_line(primary != nullptr ? primary : PQerrorMessage(connection));
  // An error without a code is libpq's own: nothing whole came back.
  const bool cut_off = result != nullptr && code.empty();
  if (PQstatus(connection) == CONNECTION_BAD || tells_of_loss(code) || cut_off) {
    return {Trouble::Lost,
            {ErrorCode::Unreachable,
             name + ": the connection to the server was lost (" + text + ")",
             {}}};
  }
  if (code == "55P03") {
    return {Trouble::Busy,
            {ErrorCode::Timeout,
             name + " is locked by another session (waited " + std::to_string(lock_wait_ms) +
                 " ms): wait until that is done",
             {}}};
  }
  if (code == "40001" || code == "40P01") {
    return {Trouble::Busy,
            {ErrorCode::Internal, name + ": another session was in the way (" + text + ")", {}}};
  }
  // The same row, of another session, was stored between a look for it and this; or of this one,
  // before its connection was lost.
  if (code == "23505") return {Trouble::Busy, {ErrorCode::Internal, name + ": " + text, {}}};
  if (code == "42501") {
    const std::string role = text_or(PQuser(connection), "?");
    return {Trouble::Final,
            {ErrorCode::Unauthorized,
             name + ": role '" + role + "' may not do this (" + text +
                 "): the database's owner can allow it, 'fettle records grant " + role +
                 " --as writer', or name another role",
             {}}};
  }
  if (code == "25006") {
    return {Trouble::Final,
            {ErrorCode::Io, name + " is read-only (" + text + "): name the primary server", {}}};
  }
  if (code == "53100") {
    return {
        Trouble::Final,
        {ErrorCode::DiskFull,
         "disk full: the server of " + name +
             " cannot store more; what was stored before is safe: free some space there and run "
             "this again, a tuning session with --resume",
         {}}};
  }
  if (code == "53200") {
    return {Trouble::Final, {ErrorCode::OutOfMemory, name + ": the server: " + text, {}}};
  }
  if (code == "57014") return {Trouble::Final, {ErrorCode::Canceled, name + ": " + text, {}}};
  return {Trouble::Final, {ErrorCode::Internal, name + ": " + text + " (" + code + ")", {}}};
}

}  // namespace fettle::records
