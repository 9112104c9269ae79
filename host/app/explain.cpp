// fettle explain: one candidate again, from its record or from its parts: IR, code, facts.
#include <algorithm>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/app/commands.h"
#include "host/app/message.h"
#include "host/app/output_file.h"
#include "host/app/record_database.h"
#include "host/backend/backend.h"
#include "host/plot/html_text.h"
#include "host/records/database.h"
#include "host/records/recorded_workload.h"
#include "host/records/workload_form.h"
#include "host/space/profile.h"
#include "host/space/workload.h"

namespace fettle::app {
namespace {

struct ExplainCommand {
  std::int64_t record = 0;
  std::string db = "fettle.db", workload, target, profile, configuration, dump_after, html;
  std::uint64_t seed = 0;
  bool space = false;
  std::string measured;  // a line; "" where no record, or another program than its
};

// Fills the empty parts of the command from the record.
Result<void> read_record(ExplainCommand& command) {
  auto database = open_to_read(command.db);
  if (!database) return database.error();
  auto record = database->get(command.record);
  if (!record) return record.error();
  // The record's time is that of its own program.
  const bool whole = command.workload.empty() && command.target.empty() &&
                     command.profile.empty() && command.configuration.empty();
  if (command.workload.empty()) {
    const auto workload = records::recorded_workload(*record);
    if (!workload) return workload.error();
    command.workload = workload->source();
  }
  if (command.target.empty() && command.profile.empty()) command.target = record->target;
  if (command.configuration.empty()) command.configuration = record->configuration;
  if (const auto nanoseconds = record->rated_nanoseconds(); nanoseconds && whole) {
    command.measured =
        fmt::format("measured       {:.0f} ns a run{}, {:.1f} GFLOPS nominal", *nanoseconds,
                    record->emulated ? " (emulated time)" : "", record->operations / *nanoseconds);
    if (record->peak_gflops > 0) {
      command.measured += fmt::format(" ({:.0f} % of the board's {:.1f})",
                                      100 * record->operations / *nanoseconds / record->peak_gflops,
                                      record->peak_gflops);
    }
    command.measured += "\n";
  }
  return {};
}

// Every sketch with its knobs and their options.
std::string text_of(const space::SearchSpace& space) {
  std::string text =
      fmt::format("{} sketches, {:.6g} configurations\n", space.sketches().size(), space.size());
  for (const space::Sketch& sketch : space.sketches()) {
    text += fmt::format("\n{}: {:.6g} configurations\n", sketch.name, sketch.size());
    for (const space::Knob& knob : sketch.knobs) {
      text += fmt::format("  {:<14} {:>3}: ", knob.name, knob.options.size());
      for (const auto& option : knob.options) {
        text += fmt::format("{}{}", &option == &knob.options.front() ? "" : " ",
                            fmt::join(option, "x"));
      }
      text += "\n";
    }
  }
  return text;
}

Result<space::Target> target_of(const ExplainCommand& command) {
  if (!command.target.empty()) return space::Target::parse(command.target);
  const auto& profiles = space::profiles();
  const auto profile =
      std::find_if(profiles.begin(), profiles.end(),
                   [&](const space::Profile& one) { return one.name == command.profile; });
  if (profile == profiles.end()) {  // a record without one
    return Error{ErrorCode::NotFound, "no target profile \"" + command.profile + "\"", {}};
  }
  const backend::HardwareValue one_thread{"threads", 1};
  return backend::target_for(space::device_of(*profile), std::span(&one_thread, 1));
}

// The program's timeline as a page of its own.
Result<void> write_page(const ExplainCommand& command, const space::Workload& workload,
                        const backend::Task& task, const space::Configuration& configuration) {
  const auto pictures = task.timeline(configuration);
  if (!pictures) return pictures.error();
  return with_output_file(command.html, [&](std::ostream& out) -> Result<std::string> {
    const std::string title = plot::html_text(workload.title());
    out << fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{}</title>\n"
        "</head>\n<body>\n<h1>{}</h1>\n<p>{}</p>\n{}</body>\n</html>\n",
        title, title, plot::html_text(task.space().to_json(configuration)), *pictures);
    return std::string("the timeline of ") + workload.title();
  });
}

Result<void> explain(ExplainCommand command) {
  if (command.record > 0) {
    if (auto read = read_record(command); !read) return read;
  }
  const auto workload = space::Workload::parse(command.workload);
  if (!workload) return workload.error();
  const auto target = target_of(command);
  if (!target) return target.error();
  const auto task = backend::open_task(*workload, *target);
  if (!task) return task.error();
  const space::SearchSpace& space = (*task)->space();
  if (command.space) {
    print("workload       {}\nsource         {}\ntarget         {}\n\n{}", workload->title(),
          records::source_for_people(workload->source()), target->canonical(), text_of(space));
    return {};
  }
  std::mt19937_64 rng(command.seed);
  auto configuration = command.configuration.empty()
                           ? Result<space::Configuration>(space.random(rng))
                           : space.parse(command.configuration);
  if (!configuration) return configuration.error();
  if (!command.html.empty()) return write_page(command, *workload, **task, *configuration);
  const auto text = (*task)->explain(*configuration, command.dump_after);
  if (!text) return text.error();
  print("workload       {}\nsource         {}\ntarget         {}\nconfiguration  {}\n{}\n{}\n",
        workload->title(), records::source_for_people(workload->source()), target->canonical(),
        space.to_json(*configuration), command.measured, *text);
  return {};
}

}  // namespace

void add_explain_command(CLI::App& app, int& status) {
  auto* explain_command =
      app.add_subcommand("explain", "Rebuilds one candidate and prints IR, code, loops and facts");
  auto command = std::make_shared<ExplainCommand>();
  auto* record = explain_command->add_option("RECORD", command->record, "A record's number in --db")
                     ->check(kRecordNumber);
  explain_command
      ->add_option("--db", command->db, "The database of RECORD: a file, or postgresql://…")
      ->capture_default_str()
      ->needs(record);
  explain_command->add_option("--workload", command->workload, "JSON, instead of a record's");
  auto* target =
      explain_command->add_option("--target", command->target, "JSON, instead of a record's");
  std::vector<std::string> profiles;
  for (const space::Profile& profile : space::profiles()) profiles.push_back(profile.name);
  explain_command
      ->add_option("--profile", command->profile, "A target profile's name, instead of --target")
      ->check(CLI::IsMember(profiles))
      ->excludes(target);
  auto* configuration =
      explain_command->add_option("--configuration", command->configuration,
                                  "JSON, instead of a record's (default without one: random)");
  auto* seed =
      explain_command->add_option("--seed", command->seed, "Seed of a random configuration")
          ->capture_default_str()
          ->excludes(record, configuration);
  auto* dump = explain_command->add_option("--dump-after", command->dump_after,
                                           "Prints the IR after this lowering pass instead");
  auto* html = explain_command
                   ->add_option("--html", command->html,
                                "Writes a page instead: when each unit of the VTA accelerator is "
                                "at work, by the simulator's estimate; -: standard output")
                   ->excludes(dump);
  explain_command
      ->add_flag("--space", command->space,
                 "Prints the search space instead: sketches, knobs, options")
      ->excludes(dump, html, configuration, seed);
  explain_command->callback([command, &status] {
    const bool whole = command->record > 0;  // no part has to be named
    if (!whole && command->workload.empty()) throw CLI::RequiredError("RECORD, or --workload,");
    if (!whole && command->target.empty() && command->profile.empty()) {
      throw CLI::RequiredError("With --workload --profile or --target");
    }
    const auto done = explain(*command);
    status = done ? kFine : fail(done.error());
  });
}

}  // namespace fettle::app
