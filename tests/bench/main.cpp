// fettle-bench: the figures that fettle promises, measured on the real parts.
// With --json: JSON lines, the last one a summary.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>

#include "host/app/command_line.h"
#include "host/tune/searcher.h"
#include "tests/bench/agent_bench.h"
#include "tests/bench/boards/boards_command.h"
#include "tests/bench/efficiency_command.h"
#include "tests/bench/fleet_bench.h"
#include "tests/bench/fleet_load.h"
#include "tests/bench/host/candidate_bench.h"
#include "tests/bench/instructions/instruction_bench.h"
#ifdef FETTLE_BENCH_KERNELS
#include "tests/bench/kernels/kernel_bench.h"
#endif
#include "tests/bench/model/model_command.h"
#include "tests/bench/neighbours/neighbours_command.h"
#include "tests/bench/networks/network_command.h"
#include "tests/bench/peers/tvm_command.h"
#include "tests/bench/planning/planning_command.h"
#include "tests/bench/prior_command.h"
#include "tests/bench/record_space_command.h"
#include "tests/bench/repeat_bench.h"
#include "tests/bench/search_bench.h"
#include "tests/bench/versions/compared_commands.h"
#include "tests/bench/vta/estimate_bench.h"
#include "tests/bench/vta/vta_bench.h"

int main(int argc, char** argv) try {
  using namespace fettle;
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app{
      "fettle-bench: measures fettle itself. JSON lines with --json, the last one a summary.",
      "fettle-bench"};
  app.require_subcommand(1);
  app.footer("Exit status: 0 fine, 1 error, 2 wrong usage.");
  const CLI::Validator a_searcher(
      [](std::string& name) {
        name = tune::current_searcher_name(name);
        return CLI::IsMember(tune::searcher_names())(name);
      },
      CLI::IsMember(tune::searcher_names()).get_description());

  bench::AgentBenchOptions agent;
  CLI::App* agent_command = app.add_subcommand(
      "agent", "the agents: static, size; this machine's own: idle memory, start to registered");
  agent_command->add_flag("--json", agent.json, "JSON lines");
  agent_command->add_option("--agents", agent.agents, "folder with ARCH/fettle-agent");
  agent_command->add_option("--starts", agent.starts, "starts of which the median is told")
      ->check(CLI::Range(1u, 1000u));

  bench::PipelineTurnsOptions pipeline;
  CLI::App* pipeline_command = bench::add_pipeline_command(app, pipeline);

#ifdef FETTLE_BENCH_KERNELS
  bench::KernelBenchOptions kernels;
  CLI::App* kernels_command =
      app.add_subcommand("kernels",
                         "the best record of each layer of a network beside oneDNN and OpenBLAS, "
                         "CLBlast on OpenCL, or PyTorch's cuDNN and cuBLAS on CUDA");
  kernels_command->add_flag("--json", kernels.json, "JSON lines");
  kernels_command->add_flag("--why", kernels.why,
                            "also where our time goes: at the peak, in the hot loop's other "
                            "instructions, in packing and transforms, in the rest");
  kernels_command->add_option("--db", kernels.db, "the database of records")->capture_default_str();
  kernels_command
      ->add_option("--network", kernels.network, "a network's name, or a .json file of workloads")
      ->capture_default_str();
  kernels_command->add_option("--device", kernels.device, "device key of the records")
      ->capture_default_str();
  kernels_command->add_option("--layers", kernels.layers,
                              "only layers whose title holds one of these texts");
  kernels_command->add_option(
      "--threads", kernels.threads,
      "of both sides; 0: one per core; without it: what most of the records were tuned for");
  kernels_command->add_option("--torch", kernels.torch,
                              "a Python that has PyTorch: the peer on CUDA devices, and one more "
                              "on CPUs");
  kernels_command->add_option("--rounds", kernels.rounds, "turns of each side")
      ->check(CLI::Range(1u, 10000u))
      ->capture_default_str();
  kernels_command->add_option("--sample-ms", kernels.sample_ms, "about how long a turn is")
      ->check(CLI::Range(0.1, 1000.0))
      ->capture_default_str();
#else
  CLI::App* kernels_command =
      app.add_subcommand("kernels", "not in this build: it needs libdnnl-dev and OpenBLAS");
  kernels_command->allow_extras();
#endif

  bench::InstructionBenchOptions instructions;
  CLI::App* instructions_command = app.add_subcommand(
      "instructions",
      "instructions that an emulated Arm CPU executes for the best records of pointwise and "
      "depthwise layers, beside XNNPACK's");
  instructions_command->add_flag("--json", instructions.json, "JSON lines");
  instructions_command->add_option("--db", instructions.db, "the database of records")
      ->capture_default_str();
  instructions_command
      ->add_option("--network", instructions.network,
                   "a network's name, or a .json file of workloads")
      ->capture_default_str();
  instructions_command->add_option("--candidates", instructions.candidates,
                                   "without a database: searches so many a layer by their counts");
  instructions_command->add_option("--seed", instructions.seed, "of that search")
      ->capture_default_str();
  instructions_command->add_option("--device", instructions.device,
                                   "device key of the records; without it: any");
  instructions_command->add_option("--arch", instructions.arch, "aarch64 or armv7")
      ->check(CLI::IsMember({"aarch64", "armv7"}))
      ->capture_default_str();
  instructions_command->add_option("--layers", instructions.layers,
                                   "only layers whose title holds one of these texts");

  bench::NetworkBenchOptions networks;
  CLI::App* networks_command = bench::add_networks_command(app, networks);

  bench::TvmBenchOptions tvm;
  CLI::App* tvm_command = bench::add_tvm_command(app, tvm);

  bench::NeighboursOptions neighbours;
  CLI::App* neighbours_command = bench::add_neighbours_command(app, neighbours);

  bench::RecordSpaceOptions record;
  CLI::App* record_command = bench::add_record_space_command(app, record);
  std::vector<std::string> renewed;
  CLI::App* renew_command = bench::add_renew_features_command(app, renewed);

  bench::RepeatBenchOptions repeat;
  CLI::App* repeat_command = app.add_subcommand(
      "repeat", "the same configurations measured in two sessions: how far the medians drift");
  repeat_command->add_flag("--json", repeat.json, "JSON lines");
  repeat_command->add_option("--db", repeat.db, "where both sessions are stored")
      ->capture_default_str();
  repeat_command->add_option(
      "--from", repeat.from,
      "configurations of this database, from the fastest to the slowest; else random ones");
  repeat_command
      ->add_option("--network", repeat.network, "a network's name, or a .json file of workloads")
      ->capture_default_str();
  repeat_command->add_option("--layers", repeat.layers,
                             "only layers whose title holds one of these texts");
  repeat_command
      ->add_option("--threads", repeat.threads,
                   "of the kernels; without it: what most of the records of --from were "
                   "tuned for, else 1")
      ->check(CLI::Range(1u, 1024u));
  repeat_command->add_option("--count", repeat.count, "configurations, over all layers")
      ->check(CLI::Range(2u, 100000u))
      ->capture_default_str();
  repeat_command
      ->add_option("--rounds", repeat.rounds,
                   "times that a session measures each; the fastest median of them counts")
      ->check(CLI::Range(1u, 100u))
      ->capture_default_str();
  repeat_command->add_option("--seed", repeat.seed, "of the draws and of the order")
      ->capture_default_str();

  bench::EfficiencyBenchOptions efficiency;
  CLI::App* efficiency_command = bench::add_efficiency_command(app, efficiency);

  bench::FleetBenchOptions fleet;
  CLI::App* fleet_command = app.add_subcommand(
      "fleet",
      "the broker under load: real connections of agents, whose devices are absent, and clients: "
      "results a second, a lease's way, the broker's memory and CPU time");
  fleet_command->add_flag("--json", fleet.json, "JSON lines");
  fleet_command->add_option("--agents", fleet.agents, "connections of agents")
      ->check(CLI::Range(1u, 20'000u))
      ->capture_default_str();
  fleet_command->add_option("--clients", fleet.clients, "connections of clients")
      ->check(CLI::Range(1u, 5'000u))
      ->capture_default_str();
  fleet_command->add_option("--threads", fleet.threads, "of the load, all agents and clients")
      ->check(CLI::Range(1u, 64u))
      ->capture_default_str();
  fleet_command->add_option("--in-flight", fleet.in_flight, "trials of all clients at one time")
      ->check(CLI::Range(1u, bench::kMostInFlight))
      ->capture_default_str();
  CLI::Option* fleet_rate = fleet_command->add_option(
      "--rate", fleet.rate,
      "results a second, and no more; without it: as many as can be had, then half of that");
  fleet_command
      ->add_option("--answer-ms", fleet.answer_ms,
                   "a board takes so long for a trial, one after the other; then told beside it: "
                   "what a simulation makes of the same fleet, which knows no --rate")
      ->excludes(fleet_rate)
      ->capture_default_str();
  fleet_command
      ->add_option("--seconds", fleet.seconds, "how long; 3600 with --kills and --rate is a soak")
      ->check(CLI::Range(0.2, 1e6))
      ->capture_default_str();
  fleet_command->add_flag("--kills", fleet.kills,
                          "each second 1 % of the agents and clients die and come back");
  fleet_command->add_option("--broker", fleet.broker,
                            "the program that is the broker; without it: fettle beside this one");
  bench::PlanningOptions planning;
  CLI::Option* simulated = bench::add_simulate_option(*fleet_command, planning);

  bench::BoardsBenchOptions boards;
  CLI::App* boards_command = bench::add_boards_command(app, boards);

  bench::PriorBenchOptions prior;
  CLI::App* prior_command = bench::add_prior_command(app, prior);

  bench::ModelBenchOptions model;
  CLI::App* model_command = bench::add_model_command(app, model);

  bench::SearchBenchOptions search;
  CLI::App* search_command = app.add_subcommand(
      "search", "searchers on recorded spaces: trials to 95, 98 and 99 % of the best");
  search_command->add_flag("--json", search.json, "JSON lines");
  search_command->add_option("RECORDINGS", search.recordings,
                             "files; without any: tests/data/recordings of the source tree");
  search_command->add_option("--searcher", search.searchers, "only these")->check(a_searcher);
  search_command->add_option("--seeds", search.seeds, "runs of each searcher on each recording")
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  search_command->add_option("--first-seed", search.first_seed, "of those runs")
      ->capture_default_str();
  search_command->add_option("--trials", search.trials, "given up after so many")
      ->check(CLI::Range(10u, 100000u))
      ->capture_default_str();
  search_command->add_flag("--prior,!--no-prior", search.prior,
                           "begin with the prior that fettle ships (on unless --no-prior)");
  search_command->add_option(
      "--kernel-tuner", search.kernel_tuner,
      "a Python that has the package kernel-tuner: its strategies on the same spaces, beside ours");
  search_command->add_flag(
      "--transfer", search.transfer,
      "begin with random trials of the other recordings, as an earlier session leaves them");

  bench::CandidateBenchOptions candidates;
  CLI::App* candidates_command = app.add_subcommand(
      "candidates", "what a candidate costs the host: its features and its build, by CPU time");
  candidates_command->add_flag("--json", candidates.json, "JSON lines");
  candidates_command
      ->add_option("--network", candidates.network,
                   "a network's name, or a .json file of workloads")
      ->capture_default_str();
  candidates_command
      ->add_option("--arch", candidates.arch, "x86_64 (this machine), aarch64 or armv7")
      ->check(CLI::IsMember({"x86_64", "aarch64", "armv7"}))
      ->capture_default_str();
  candidates_command
      ->add_option("--candidates", candidates.candidates, "built, of each task, drawn at random")
      ->check(CLI::Range(1u, 10000u))
      ->capture_default_str();
  CLI::Option* candidates_lowered =
      candidates_command
          ->add_option("--lowered", candidates.lowered,
                       "lowered for their features, for each built one")
          ->check(CLI::Range(1u, 1000u))
          ->capture_default_str();
  CLI::Option* candidates_seed =
      candidates_command->add_option("--seed", candidates.seed, "of the draws")
          ->capture_default_str();
  candidates_command
      ->add_option("--db", candidates.database,
                   "a record database: what its sessions built of each task, the first "
                   "--candidates of it, instead of random draws")
      ->check(CLI::ExistingFile)
      ->excludes(candidates_seed, candidates_lowered);

  bench::HostTurnsOptions host;
  CLI::App* host_command = bench::add_host_command(app, host);

  bench::VersionsBenchOptions versions;
  CLI::App* versions_command = bench::add_versions_command(app, versions);

  bench::VtaBenchOptions vta;
  CLI::App* vta_command = app.add_subcommand(
      "vta",
      "the best programs of each int8 layer on the simulated or Verilated VTA: cycles, share of "
      "the layer's bound, GOPS at the design's clock beside what was published");
  vta_command->add_flag("--json", vta.json, "JSON lines");
  vta_command->add_option("--db", vta.db, "the database of records")->capture_default_str();
  vta_command
      ->add_option("--network", vta.network, "a network's name, or a .json file of workloads")
      ->capture_default_str();
  vta_command->add_option("--device", vta.device, "device key of the records")
      ->capture_default_str();
  vta_command->add_option("--design", vta.design, "of the accelerator")->capture_default_str();
  vta_command->add_option("--layers", vta.layers,
                          "only layers whose title holds one of these texts");
  vta_command
      ->add_option_function<std::string>(
          "--core", [&](const std::string& core) { vta.rtl = core == "rtl"; },
          "simulator, or rtl: the Verilated core, some 300,000 cycles a second (default: "
          "simulator)")
      ->check(CLI::IsMember({"simulator", "rtl"}));
  vta_command->add_option("--best", vta.best, "distinct programs of each layer that are run")
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  vta_command->add_option("--candidates", vta.candidates,
                          "without a database: the best of so many a layer, measured here");
  vta_command->add_option("--seed", vta.seed, "of that search")->capture_default_str();
  vta_command->add_option("--jobs", vta.jobs, "threads; 0: one per core of this machine");

  bench::EstimateBenchOptions estimate;
  CLI::App* estimate_command = app.add_subcommand(
      "vta-estimate",
      "random configurations on the simulated and the Verilated VTA: how far the simulator's "
      "estimate is off, and whether it ranks them alike");
  estimate_command->add_flag("--json", estimate.json, "JSON lines");
  estimate_command
      ->add_option("--network", estimate.network, "a network's name, or a .json file of workloads")
      ->capture_default_str();
  estimate_command->add_option("--design", estimate.design, "of the accelerator")
      ->capture_default_str();
  estimate_command->add_option("--layers", estimate.layers,
                               "only layers whose title holds one of these texts");
  estimate_command
      ->add_option("--configurations", estimate.configurations,
                   "over all layers, of each equally many")
      ->check(CLI::Range(1u, 100000u))
      ->capture_default_str();
  estimate_command->add_option("--seed", estimate.seed, "of the draws")->capture_default_str();
  estimate_command->add_option("--jobs", estimate.jobs, "threads; 0: one per core of this machine");

  const auto ended = app::read_command_line(app, argc, argv, [](const std::string& wrong) {
    std::fprintf(stderr, "fettle-bench: %s\n", wrong.c_str());
  });
  if (ended) return *ended;

  Result<void> done;
  if (agent_command->parsed()) done = bench::run_agent_bench(agent);
  if (pipeline_command->parsed()) {
    done = pipeline.baseline.empty() ? bench::run_pipeline_bench(pipeline.pipeline)
                                     : bench::run_pipeline_turns(pipeline);
  }
  if (kernels_command->parsed()) {
#ifdef FETTLE_BENCH_KERNELS
    done = bench::run_kernel_bench(kernels);
#else
    done = Error{ErrorCode::Unsupported,
                 "kernels: built without oneDNN and OpenBLAS: './dev setup' installs them",
                 {}};
#endif
  }
  if (instructions_command->parsed()) done = bench::run_instruction_bench(instructions);
  if (neighbours_command->parsed()) done = bench::run_neighbours(neighbours);
  if (networks_command->parsed()) done = bench::run_network_bench(networks);
  if (tvm_command->parsed()) done = bench::run_tvm_command(tvm);
  if (record_command->parsed()) done = bench::run_record_space(record);
  if (renew_command->parsed()) done = bench::run_renew_features(renewed);
  if (efficiency_command->parsed()) done = bench::run_efficiency_bench(efficiency);
  if (repeat_command->parsed()) done = bench::run_repeat_bench(repeat);
  planning.json = fleet.json;
  if (fleet_command->parsed()) {
    done = *simulated ? bench::run_planning_bench(planning) : bench::run_fleet_bench(fleet);
  }
  if (boards_command->parsed()) done = bench::run_boards_bench(boards);
  if (prior_command->parsed()) {
    if (prior.recordings.empty()) prior.recordings = bench::stored_recordings();
    done = bench::run_prior_bench(prior);
  }
  if (model_command->parsed()) done = bench::run_model_bench(model);
  if (search_command->parsed()) {
    if (search.recordings.empty()) search.recordings = bench::stored_recordings();
    done = bench::run_search_bench(search);
  }
  if (candidates_command->parsed()) done = bench::run_candidate_bench(candidates);
  if (host_command->parsed()) done = bench::run_host_turns(host);
  if (versions_command->parsed()) done = bench::run_versions_bench(versions);
  if (vta_command->parsed()) done = bench::run_vta_bench(vta);
  if (estimate_command->parsed()) done = bench::run_estimate_bench(estimate);
  if (done && (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)) {
    done = Error{ErrorCode::Io, "cannot write all of standard output", {}};
  }
  if (done) return 0;
  std::fprintf(stderr, "fettle-bench: %s\n", done.error().text().c_str());
  return 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "fettle-bench: %s\n", error.what());
  return 1;
}
