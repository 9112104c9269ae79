// What a PostgreSQL server's refusals mean to a user: SQLSTATEs as Errors that name the database
// and say what to do, and what is worth another try.
#pragma once

#include <libpq-fe.h>

#include <string>
#include <string_view>

#include "schemas/wire/result.h"

namespace fettle::records {

enum class Trouble {
  Lost,   // the server or the way to it is gone; a new connection may help
  Busy,   // another transaction was in the way: the same may work now
  Final,  // the same would fail again
};

struct Refusal {
  Trouble trouble = Trouble::Final;
  Error error;
};

// Of a connection that could not be made. `shown`: the URL without its password.
Refusal refused_connection(PGconn* connection, const std::string& shown);

// Of a statement. `result` may be null: then nothing came back.
Refusal refused_statement(PGconn* connection, const PGresult* result, const std::string& shown,
                          long lock_wait_ms);

}  // namespace fettle::records
