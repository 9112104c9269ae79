// fettle records grant (records_grant.h).
#include "host/app/records_grant.h"

#include <fmt/format.h>

#include <memory>

#include "host/app/commands.h"
#include "host/app/message.h"
#include "host/app/record_database.h"
#include "host/records/postgres_schema.h"

namespace fettle::app {
namespace {

struct GrantOptions {
  std::string role, db, as;
};

int grant(const GrantOptions& options) {
  const std::string shown = records::shown_database(options.db);
  if (!records::is_server(options.db)) {
    return fail(shown + " is a file: its owner lets others read or write it by chmod");
  }
  const auto access = options.as == "writer" ? records::Access::Writer : records::Access::Reader;
  const auto done = records::grant_records(options.db, options.role, access, writing(nullptr));
  if (!done) {
    return fail(done.error());
  }
  note(fmt::format("role {} may now {} the records in {}", options.role,
                   access == records::Access::Writer ? "read and add to" : "read", shown));
  return kFine;
}

}  // namespace

void add_grant_command(CLI::App& records, int& status) {
  auto options = std::make_shared<GrantOptions>();
  auto* command = records.add_subcommand(
      "grant", "Lets a role of a PostgreSQL server read the records, or read and add to them");
  command->add_option("ROLE", options->role, "Of the server, which createuser makes")->required();
  command->add_option("--as", options->as, "reader, or writer: who tunes")
      ->required()
      ->check(CLI::IsMember({"reader", "writer"}));
  command
      ->add_option("--db", options->db,
                   "postgresql://OWNER@HOST/DATABASE; its tables are made if there are none")
      ->required();
  command->callback([options, &status] { status = grant(*options); });
}

}  // namespace fettle::app
