// fettle records: what the database knows. best, show, plot, distill, export,
// import, grant.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "host/app/commands.h"
#include "host/app/json_view.h"
#include "host/app/message.h"
#include "host/app/output_file.h"
#include "host/app/record_database.h"
#include "host/app/records_filter.h"
#include "host/app/records_grant.h"
#include "host/app/records_show.h"
#include "host/app/text.h"
#include "host/fleet/pool.h"
#include "host/plot/page.h"
#include "host/plot/plot_data.h"
#include "host/records/export.h"
#include "host/records/json_fields.h"
#include "host/records/queries.h"
#include "host/records/report.h"
#include "host/records/table.h"

namespace fettle::app {
namespace {

struct RecordsOptions {
  std::string db = "fettle.db", device, session, output = "-", input;
  std::int64_t id = 0;
  int per_task = 1;
  bool json = false;

  records::Filter filter() const {
    records::Filter filter;
    filter.device_key = fleet::key_of_pool(device);  // as tables and `fettle devices` write it
    filter.session = session;
    return filter;
  }
};

std::string title_of(const records::TuningRecord& record) {
  return record.title.empty() ? record.workload_hash : record.title;
}

nlohmann::json best_json(const records::TuningRecord& record) {
  const auto nanoseconds = record.rated_nanoseconds();
  nlohmann::json object = {{"record", record.id},
                           {"title", title_of(record)},
                           {"device_key", record.device_key},
                           {"board_id", record.board_id},
                           {"emulated", record.emulated},
                           {"session", record.session},
                           {"workload", records::json_or_text(record.workload)},
                           {"target", records::json_or_text(record.target)},
                           {"configuration", records::json_or_text(record.configuration)},
                           {"ns", *nanoseconds},
                           {"confirmed", record.confirmed_nanoseconds.has_value()},
                           {"gflops", record.operations / *nanoseconds}};
  if (record.peak_gflops > 0) {
    object["share_of_peak"] = record.operations / *nanoseconds / record.peak_gflops;
  }
  return object;
}

// Records of devices that count instructions: a table of their own, as these are no times.
void print_counted(const std::vector<records::TuningRecord>& counted, bool json) {
  records::Table table({{"record", records::Align::Right},
                        {"task"},
                        {"device"},
                        {"instructions", records::Align::Right},
                        {"configuration"}});
  for (const records::TuningRecord& record : counted) {
    const double instructions = record.measurement()->median;
    if (json) {
      print_json_line({{"record", record.id},
                       {"title", title_of(record)},
                       {"device_key", record.device_key},
                       {"emulated", record.emulated},
                       {"configuration", records::json_or_text(record.configuration)},
                       {"instructions", instructions}});
      continue;
    }
    table.row({std::to_string(record.id), title_of(record), records::device_text(record),
               fmt::format("{:.0f}", instructions), record.configuration});
  }
  if (!json && !counted.empty()) table.print(std::cout);
}

// What tells the targets of rows apart that a table would show alike, for each record: "threads=2".
// All empty where all can be told apart.
std::vector<std::string> target_texts(const std::vector<records::TuningRecord>& found) {
  std::vector<nlohmann::json> targets;
  std::map<std::pair<std::string, std::string>, std::size_t> first;  // of a task and a device
  std::set<std::string> differ;
  for (std::size_t i = 0; i < found.size(); ++i) {
    auto target = records::json_or_text(found[i].target);
    targets.push_back(target.is_object() ? std::move(target)
                                         : nlohmann::json{{"target", found[i].target}});
    const auto at = first.emplace(std::pair(title_of(found[i]), records::device_text(found[i])), i);
    const nlohmann::json &one = targets[i], &other = targets[at.first->second];
    for (const auto* side : {&one, &other}) {
      for (const auto& [key, value] : side->items()) {
        const bool same = one.contains(key) && other.contains(key) && one[key] == other[key];
        if (!same) differ.insert(key);
      }
    }
  }
  std::vector<std::string> texts(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const std::string& key : differ) {
      if (!targets[i].contains(key)) continue;
      const nlohmann::json& value = targets[i][key];
      texts[i] += (texts[i].empty() ? "" : " ") + key + "=" +
                  (value.is_string() ? value.get<std::string>() : records::dump_json(value));
    }
  }
  return texts;
}

Result<void> best(const records::Database& database, const RecordsOptions& options) {
  const auto found = records::best(database, options.filter(), options.per_task);
  if (!found) return found.error();
  const std::vector<std::string> targets = target_texts(*found);
  const bool apart =
      std::any_of(targets.begin(), targets.end(), [](const auto& text) { return !text.empty(); });
  std::vector<records::Table::Column> columns = {{"record", records::Align::Right},
                                                 {"task"},
                                                 {"device"},
                                                 {"time", records::Align::Right},
                                                 {"GFLOPS", records::Align::Right},
                                                 {"% peak", records::Align::Right},
                                                 {"configuration"}};
  if (apart) columns.insert(columns.begin() + 3, {"target"});
  records::Table table(columns);
  bool above_peak = false;
  for (std::size_t i = 0; i < found->size(); ++i) {
    const records::TuningRecord& record = (*found)[i];
    if (options.json) {
      print_json_line(best_json(record));
      continue;
    }
    const double gflops = record.operations / *record.rated_nanoseconds();
    above_peak = above_peak || (record.peak_gflops > 0 && gflops > record.peak_gflops);
    std::vector<std::string> cells = {
        std::to_string(record.id),
        title_of(record),
        records::device_text(record),
        records::duration_text(*record.rated_nanoseconds()),
        records::gflops_text(record),
        record.peak_gflops > 0 ? fmt::format("{:.1f}", 100 * gflops / record.peak_gflops) : "-",
        record.configuration};
    if (apart) cells.insert(cells.begin() + 3, targets[i]);
    table.row(cells);
  }
  const auto counted = records::fewest_instructions(database, options.filter(), options.per_task);
  if (!counted) return counted.error();
  if (!options.json && !(found->empty() && !counted->empty()))
    table.print(std::cout, terminal_columns(records::Table::kAll));
  if (above_peak) std::cout << kFewerOperations << "\n";
  print_counted(*counted, options.json);
  if (found->empty() && counted->empty())
    note("no measured record in " + records::shown_database(options.db));
  return {};
}

Result<void> show(const records::Database& database, const RecordsOptions& options) {
  return options.id > 0 ? show_record(database, options.id, options.json)
                        : show_overview(database, options.filter(), options.json);
}

Result<void> with_lines(const RecordsOptions& options,
                        const std::function<Result<records::LineCounts>(std::ostream&)>& write) {
  return with_output_file(options.output, [&](std::ostream& out) -> Result<std::string> {
    const auto counts = write(out);
    if (!counts) return counts.error();
    return fmt::format("{} records in {} lines", counts->trials, counts->lines);
  });
}

Result<void> plot(const records::Database& database, const RecordsOptions& options) {
  const auto data = plot::plot_data(database, options.filter());
  if (!data) return data.error();
  return with_output_file(options.output, [&](std::ostream& out) -> Result<std::string> {
    out << plot::page(*data, "fettle: " + records::shown_database(options.db));
    return fmt::format("a plot of {} trials", data->at("trials").get<std::size_t>());
  });
}

Result<void> export_all(const records::Database& database, const RecordsOptions& options) {
  return with_lines(options, [&](std::ostream& out) {
    return records::export_lines(database, options.filter(), out);
  });
}

Result<void> distill(const records::Database& database, const RecordsOptions& options) {
  if (options.output.ends_with(".db") || records::is_server(options.output)) {
    auto to = open_to_write(options.output, nullptr);
    if (!to) return to.error();
    const auto counts = records::distill(database, options.filter(), options.per_task, *to);
    if (!counts) return counts.error();
    note(fmt::format("{} records written to {}", counts->trials,
                     records::shown_database(options.output)));
    return {};
  }
  return with_lines(options, [&](std::ostream& out) {
    return records::distill(database, options.filter(), options.per_task, out);
  });
}

int import_file(const RecordsOptions& options) {
  std::ifstream file;
  if (options.input != "-") {
    file.open(options.input);
    if (!file) return fail("cannot read " + options.input);
    if (is_database(options.input)) {
      return fail(options.input +
                  " is a database, and not an export of one: `fettle records export "
                  "--db " +
                  options.input + "` writes what is to be imported");
    }
  }
  const auto counts = records::import_lines(options.db, options.input == "-" ? std::cin : file,
                                            options.input == "-" ? "standard input" : options.input,
                                            writing(nullptr));
  if (!counts) return fail(counts.error());
  const std::string confirmed =
      counts->confirmed > 0 ? fmt::format(", {} confirmed anew", counts->confirmed) : "";
  note(fmt::format("{} records read, {} of them new{} in {}", counts->trials, counts->added,
                   confirmed, records::shown_database(options.db)));
  return kFine;
}

}  // namespace

void add_records_command(CLI::App& app, int& status) {
  using Action = Result<void> (*)(const records::Database&, const RecordsOptions&);
  auto* group = app.add_subcommand("records", "What the record database knows");
  group->require_subcommand(1);
  auto options = std::make_shared<RecordsOptions>();
  const auto filters = [options](CLI::App* command) {
    command->add_option("--db", options->db, "The database: a file, or postgresql://…")
        ->capture_default_str();
    command->add_option("--device", options->device, "Only records of this device key");
    command->add_option("--session", options->session, "Only records of this session");
  };
  const auto add = [&, options](const char* name, const char* help, Action action) {
    auto* command = group->add_subcommand(name, help);
    filters(command);
    command->callback([options, action, &status] {
      auto database = open_to_read(options->db);
      if (!database) {
        status = fail(database.error());
        return;
      }
      auto done = check_not_database(options->output, options->db);
      if (done)
        done = check_filter(*database, options->filter(), records::shown_database(options->db));
      if (done) done = action(*database, *options);
      status = done ? kFine : fail(done.error());
    });
    return command;
  };
  const auto count_option = [options](CLI::App* command) {
    command->add_option("-k", options->per_task, "Records of each task")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000000));
  };
  const auto output_option = [options](CLI::App* command, const char* help) {
    command->add_option("-o,--output", options->output, help)
        ->capture_default_str()
        ->check([](const std::string& path) { return path.empty() ? "wants a file's name" : ""; });
  };
  auto* best_command = add("best", "The fastest correct record of each task", best);
  count_option(best_command);
  best_command->add_flag("--json", options->json, "Prints a JSON object per record");
  auto* show_command =
      add("show", "One record in full; without a number, sessions and tasks", show);
  show_command->add_option("RECORD", options->id, "Its number")
      ->check(kRecordNumber)
      ->excludes(show_command->get_option("--device"))
      ->excludes(show_command->get_option("--session"));
  show_command->add_flag("--json", options->json,
                         "Prints a JSON object: the record, or one per session, task and cause");
  auto* plot_command =
      add("plot", "Draws curves, stages and failures as one HTML file for a browser", plot);
  output_option(plot_command, "The .html file; -: standard output");
  auto* distill_command = add("distill", "Writes only the best records of each task", distill);
  count_option(distill_command);
  output_option(distill_command,
                "A .db file or postgresql://…, or a file of JSON lines; -: standard output");
  auto* export_command = add("export", "Writes everything as JSON lines", export_all);
  output_option(export_command, "JSON lines; -: standard output");
  auto* import_command = group->add_subcommand("import", "Adds the records of an export");
  import_command->add_option("FILE", options->input, "JSON lines; -: standard input")->required();
  import_command
      ->add_option("--db", options->db,
                   "The database, a file or postgresql://…; made if there is none")
      ->capture_default_str();
  import_command->callback([options, &status] { status = import_file(*options); });
  add_grant_command(*group, status);
}

}  // namespace fettle::app
