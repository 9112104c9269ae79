// fettle tasks: what there is to tune in a network.
#include <iostream>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "host/app/commands.h"
#include "host/app/json_view.h"
#include "host/app/message.h"
#include "host/app/task_source.h"
#include "host/records/table.h"
#include "host/space/compulsory.h"

namespace fettle::app {
namespace {

using nlohmann::json;

struct TasksCommand {
  TaskSource source;
  bool json = false;
};

// None of a kernel of one's own: nobody tells what it must read.
std::optional<double> bytes_of(const space::Workload& workload) {
  if (workload.kernel()) return std::nullopt;
  return space::compulsory_bytes(workload.dag());
}

int run(const TasksCommand& command) {
  auto list = load_tasks(command.source);
  if (!list) return fail(list.error());
  double all = 0;
  for (const space::Task& task : list->tasks) all += task.weight * task.workload.operations();
  records::Table table({{"#", records::Align::Right},
                        {"task"},
                        {"weight", records::Align::Right},
                        {"MFLOP", records::Align::Right},
                        {"MB", records::Align::Right},
                        {"% of operations", records::Align::Right}});
  double weights = 0, bytes = 0;
  bool all_known = true;
  for (std::size_t i = 0; i < list->tasks.size(); ++i) {
    const space::Task& task = list->tasks[i];
    const double operations = task.workload.operations();
    const std::optional<double> moved = bytes_of(task.workload);
    weights += task.weight;
    bytes += task.weight * moved.value_or(0);
    all_known = all_known && moved;
    if (command.json) {
      const json line = {
          {"title", task.workload.title()}, {"weight", task.weight},
          {"operations", operations},       {"compulsory_bytes", moved ? json(*moved) : json()},
          {"hash", task.workload.hash()},   {"workload", json::parse(task.workload.source())}};
      print_json_line(line);
      continue;
    }
    table.row({std::to_string(i + 1), task.workload.title(), fmt::format("{:g}", task.weight),
               fmt::format("{:.2f}", operations / 1e6),
               moved ? fmt::format("{:.2f}", *moved / 1e6) : "-",
               fmt::format("{:.1f}", all > 0 ? 100 * task.weight * operations / all : 0)});
  }
  if (command.json) return kFine;
  table.rule();
  table.row({"", "of one run", fmt::format("{:g}", weights), fmt::format("{:.2f}", all / 1e6),
             all_known ? fmt::format("{:.2f}", bytes / 1e6) : "-", ""});
  table.print(std::cout);
  return kFine;
}

}  // namespace

void add_tasks_command(CLI::App& app, int& status) {
  auto* tasks = app.add_subcommand(
      "tasks",
      "Lists what there is to tune in a network: each operator with what is fused into it");
  auto command = std::make_shared<TasksCommand>();
  add_task_source(*tasks, command->source)->required();
  tasks->add_flag("--json", command->json, "JSON lines: a task each");
  tasks->footer(
      "MFLOP and MB are of one run of the task: its operations, and what it must read and write at "
      "least. `fettle tune` takes the same argument.");
  tasks->callback([command, &status] { status = run(*command); });
}

}  // namespace fettle::app
