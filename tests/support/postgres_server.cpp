// PostgresServer (postgres_server.h).
#include "tests/support/postgres_server.h"

#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/support/free_port.h"

namespace fettle::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

// Debian keeps a server's programs apart by version; the latest.
std::string programs() {
  std::vector<std::string> found;
  std::error_code none;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", none)) {
    if (fs::exists(version.path() / "bin/initdb", none)) found.push_back(version.path() / "bin");
  }
  return found.empty() ? "" : *std::max_element(found.begin(), found.end());
}

// The server does not run as root.
const passwd* other_user() {
  for (const char* name : {"postgres", "nobody"}) {
    if (const passwd* user = ::getpwnam(name); user != nullptr) return user;
  }
  return nullptr;
}

std::vector<std::string> as_other_user(std::vector<std::string> words) {
  std::vector<std::string> all{"setpriv", "--pdeathsig", "QUIT"};
  if (::geteuid() == 0) {
    const passwd* user = other_user();
    for (const std::string& word :
         {"--reuid=" + std::to_string(user->pw_uid), "--regid=" + std::to_string(user->pw_gid),
          std::string("--clear-groups")}) {
      all.push_back(word);
    }
  }
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

}  // namespace

std::string PostgresServer::why_none() {
  if (programs().empty()) return "no PostgreSQL server here";
  if (::geteuid() == 0 && other_user() == nullptr) return "no user to run PostgreSQL as";
  return {};
}

PostgresServer& PostgresServer::shared() {
  static PostgresServer server;
  if (server.program_ == nullptr) server.start();
  return server;
}

PostgresServer::PostgresServer() : bin_(programs()), port_(free_port()) {
  if (::geteuid() == 0) {
    const passwd* user = other_user();
    if (::chown(folder_.path().c_str(), user->pw_uid, user->pw_gid) != 0) std::abort();
  }
  const std::string data = folder_.file("data");
  const ProgramResult made =
      run_program(as_other_user({bin_ + "/initdb", "-D", data, "-U", "postgres", "-A", "trust",
                                 "--no-sync", "--locale=C", "--encoding=UTF8"}),
                  seconds(120));
  if (made.status != 0) {
    ADD_FAILURE() << "initdb: " << made.err;
    std::abort();
  }
  std::ofstream(data + "/pg_hba.conf") << "host all /^locked.*$ all scram-sha-256\n"
                                          "host all locked all scram-sha-256\n"
                                          "host all all all trust\n";
}

PostgresServer::~PostgresServer() {
  if (program_) kill();
}

void PostgresServer::start() {
  const bool first = databases_ == 0 && !program_;
  program_ = std::make_unique<RunningProgram>(
      as_other_user({bin_ + "/postgres", "-D", folder_.file("data"), "-p", std::to_string(port_),
                     "-h", "127.0.0.1", "-k", "", "-F", "-c", "max_connections=40"}));
  const std::string url = this->url("postgres", "postgres");
  for (int i = 0; i < 1200 && PQping(url.c_str()) != PQPING_OK; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  if (PQping(url.c_str()) != PQPING_OK) ADD_FAILURE() << "no server: " << program_->err();
  if (first) execute("CREATE ROLE owner LOGIN; CREATE ROLE locked LOGIN PASSWORD 's3cret/@'");
}

void PostgresServer::stop() {
  program_->signal(SIGINT);
  EXPECT_EQ(program_->wait(seconds(60)), 0) << program_->err();
}

void PostgresServer::kill() {
  program_->signal(SIGQUIT);
  (void)program_->wait(seconds(60));
}

std::string PostgresServer::url(const std::string& database, const std::string& user) const {
  return "postgresql://" + user + "@127.0.0.1:" + std::to_string(port_) + "/" + database;
}

std::string PostgresServer::execute(const std::string& sql, const std::string& database) const {
  PGconn* connection = PQconnectdb(url(database, "postgres").c_str());
  PGresult* result = PQexec(connection, sql.c_str());
  const ExecStatusType status = PQresultStatus(result);
  EXPECT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
      << sql << ": " << PQerrorMessage(connection);
  const int rows = PQntuples(result);
  std::string value = rows > 0 ? PQgetvalue(result, rows - 1, 0) : "";
  PQclear(result);
  PQfinish(connection);
  return value;
}

std::string PostgresServer::make_database() {
  const std::string name = "records_" + std::to_string(++databases_);
  execute("CREATE DATABASE " + name + " OWNER owner");
  return name;
}

}  // namespace fettle::testing
