// A PostgreSQL server of a test's own: in a scratch folder, as a user that is not root, gone with
// the object. Reached by a port of the loopback.
#pragma once

#include <memory>
#include <string>

#include "tests/support/running_program.h"

namespace fettle::testing {

class PostgresServer {
 public:
  // Why there can be none here; "": there can.
  static std::string why_none();
  // The one that a program's tests share, started by the first that asks, in the main thread.
  static PostgresServer& shared();

  PostgresServer();  // with its folder; start() starts it
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;

  void start();
  // Connections are cut; what was committed is on the disk.
  void stop();
  // As by a crash: no process of it is asked.
  void kill();

  int port() const { return port_; }
  // postgresql://USER@127.0.0.1:PORT/DATABASE
  std::string url(const std::string& database, const std::string& user = "owner") const;
  // By its superuser, whose password nobody asks; returns the first column of the last row.
  std::string execute(const std::string& sql, const std::string& database = "postgres") const;
  // A new database, empty, of the role `owner`; returns its name.
  std::string make_database();
  // Roles named "locked…" must give a password; all others are trusted.

 private:
  std::string bin_;  // folder of the server's programs
  ScratchFolder folder_;
  int port_ = 0;
  int databases_ = 0;
  std::unique_ptr<RunningProgram> program_;
};

}  // namespace fettle::testing
