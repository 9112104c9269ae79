// fettle tune: the options.
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/app/commands.h"
#include "host/app/hardware_options.h"
#include "host/app/message.h"
#include "host/app/tuning_session.h"
#include "host/model/task_list.h"
#include "host/tune/searcher.h"
#include "schemas/wire/limits.h"

namespace fettle::app {

void add_tune_command(CLI::App& app, int& status) {
  auto* tune = app.add_subcommand(
      "tune", "Searches the fastest kernels of a network, or of your own, for a board");
  auto command = std::make_shared<TuneCommand>();

  auto* what = add_task_source(*tune, command->tasks);
  for (const char* name : {"--extent", "--constant"}) tune->get_option(name)->group("Where");
  const auto option = [tune](const char* name, auto& value, const std::string& help) {
    // The last one counts: a script's own options can be followed by a user's.
    return tune->add_option(name, value, help)->capture_default_str()->take_last();
  };
  option("--device", command->device,
         "Key of the boards to tune for; local: this machine's CPU; local-opencl, local-cuda: its "
         "GPU; vta-sim: the FPGA accelerator, simulated")
      ->group("Where");
  auto* replay =
      tune->add_option("--replay", command->replay,
                       "Recordings of whole spaces (tests/data/recordings) whose tasks are tuned "
                       "instead, every trial answered from them; nothing is stored")
          ->excludes(what)
          ->group("Where");
  option("--broker", command->broker,
         "tcp://HOST:PORT of a `fettle broker`; without it a broker and an agent of this machine "
         "are started for the session")
      ->group("Where");
  option("--broker-key", command->broker_key,
         "The broker's public key (default: of this account's own broker)")
      ->needs("--broker")
      ->group("Where");
  option("--hardware", command->hardware, hardware_help())
      ->check([](const std::string& text) {
        const auto hardware = parse_hardware(text);
        return hardware ? "" : hardware.error().text();
      })
      ->group("Where");
  option(
      "--builders", command->builders,
      "Compiler processes; 0: one for each core, also for those of a device of this machine, which "
      "are lent while it waits")
      ->check(CLI::Range(0, 1024))
      ->group("Where");
  option("--build-on", command->build_on,
         "Where candidates are compiled: here, on the broker's build workers (workers), or "
         "anywhere, which is both by their pace")
      ->check(CLI::IsMember({"anywhere", "here", "workers"}))
      ->group("Where");

  option("--priority", command->priority,
         "Among the sessions of a broker: higher goes first, with d more it gets d + 1 turns of a "
         "board for each of the other's, 16 at most")
      ->check(CLI::Range(-limits::kPriority, limits::kPriority))
      ->group("Where");

  option("--trials", command->trials, "Candidates over all tasks together; failed ones count")
      ->check(CLI::Range(1u, 1000000000u))
      ->group("Search");
  option("--searcher", command->searcher, "How candidates are chosen")
      ->transform([](const std::string& name) {
        const std::string current = tune::current_searcher_name(name);
        if (current != name) {
          note(
              fmt::format("--searcher {} is {} here, as ever; AutoTVM's own xgb looks at loops by "
                          "default: that is xgb-itervar",
                          name, current));
        }
        return current;
      })
      ->check(CLI::IsMember(tune::searcher_names()))
      ->group("Search");
  option("--scheduler", command->scheduler,
         "Which task gets the next trial: gradient (where sum(weight x time) falls fastest) or "
         "round-robin")
      ->check(CLI::IsMember({"gradient", "round-robin"}))
      ->group("Search");
  tune->add_flag("--deterministic", command->deterministic,
                 "Proposals follow from the seed and from what was measured, not from the order "
                 "in which results come: trials go in synchronous batches")
      ->group("Search");
  tune->add_flag("--prior,!--no-prior", command->prior,
                 "The cost model starts with what fettle's own trials of other tasks taught (on "
                 "unless --no-prior)")
      ->group("Search");
  tune->add_flag("--transfer,!--no-transfer", command->transfer,
                 "The cost model starts with the database's records of other tasks on this kind "
                 "of device; of these tasks only with --resume (on unless --no-transfer)")
      ->group("Search");
  option("--early-stopping", command->early_stopping,
         "Ends a task after so many trials without improvement; 0: never")
      ->group("Search");
  option("--finalists", command->finalists,
         "Programs of a task that are measured again at the end, by turns, one for each 32 of its "
         "trials and so many at most: the fastest then is its best; 0: none")
      ->check([](const std::string& text) {  // one alone has nothing to compare with
        const auto count = std::strtoul(text.c_str(), nullptr, 10);
        return count == 0 || (count >= 2 && count <= 64) ? "" : "takes 0, or 2 to 64, not " + text;
      })
      ->group("Measuring");
  option("--seed", command->seed, "Seed of the search")->group("Search");

  option("--db", command->db,
         "Record database, a file or postgresql://USER@HOST/DATABASE; made if there is none, never "
         "emptied")
      ->group("Records");
  tune->add_flag("--resume", command->resume,
                 "Goes on where the database ends: nothing measured is measured again, old records "
                 "teach the search and count towards --trials")
      ->group("Records");

  option("--first", command->first,
         "A log that AutoTVM wrote on VTA: the ten fastest configurations of each task in it are "
         "tried before any other")
      ->check(CLI::ExistingFile)
      ->group("Records");

  option("--number", command->number, "Runs per sample; 0: as many as --min-repeat-ms needs")
      ->check(CLI::Range(0u, 100000000u))
      ->group("Measuring");
  option("--repeat", command->repeat,
         "Most samples of a candidate; fewer are taken once the interval is tight")
      ->check(CLI::Range(1u, 100000u))
      ->group("Measuring");
  option("--min-repeat-ms", command->min_repeat_ms, "Shortest sample")
      ->check(CLI::Range(0.0, 60000.0))
      ->group("Measuring");
  option("--timeout", command->timeout_s,
         "Seconds of run time a candidate may take; waiting, upload and check do not count")
      ->check(CLI::Range(0.001, 3600.0))
      ->group("Measuring");
  option("--cooldown-ms", command->cooldown_ms, "Pause before the samples")
      ->check(CLI::Range(0u, 600000u))
      ->group("Measuring");
  option("--weights", command->weights,
         "cold: a run finds its weights out of the caches, as in its network; warm: in them; auto: "
         "cold for an ONNX file on a CPU, which says how large they are, warm else")
      ->check(CLI::IsMember({"auto", "cold", "warm"}))
      ->group("Measuring");
  tune->add_flag("--flush-cache", command->flush_cache, "Empties the caches before each sample")
      ->group("Measuring");

  tune->add_flag("--json", command->json,
                 "JSON lines on standard output: one per trial and a summary at the end")
      ->group("Output");
  tune->add_flag("--quiet", command->quiet, "No progress, only the final table")->group("Output");
  add_web_options(*tune, command->web, "the session");
  for (const char* name : {"--web", "--web-token-file"}) tune->get_option(name)->group("Output");
  tune->get_option("--web")->excludes(replay);
  tune->footer(
      "Ctrl-C stops cleanly: what was measured is kept, --resume goes on; a second one ends at "
      "once.\nExit status: 0 fine, 1 error (also when every trial failed, those before --resume "
      "too), 2 wrong usage, 130 interrupted.");
  tune->callback([command, tune, what, replay, &status] {
    // No board and no database take part in a replay.
    for (const CLI::Option* option : tune->get_options()) {
      const std::string& group = option->get_group();
      const bool of_boards = group == "Where" || group == "Records" || group == "Measuring";
      if (replay->count() > 0 && of_boards && option != replay && option->count() > 0) {
        throw CLI::ExcludesError("--replay", option->get_name());
      }
    }
    if (command->build_on == "workers" && command->broker.empty()) {
      throw CLI::RequiredError("--build-on workers: --broker");
    }
    if (command->replay.empty() && what->empty()) {
      throw CLI::RequiredError("NETWORK|MODEL|WORKLOADS|KERNEL, or --replay");
    }
    status = command->replay.empty() ? run_tuning(*command) : run_replay(*command);
  });
}

}  // namespace fettle::app
