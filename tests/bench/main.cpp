// fettle-bench: the figures that fettle promises, measured on the real parts.
// With --json: JSON lines, the last one a summary.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>

#include "tests/bench/agent_bench.h"
#include "tests/bench/pipeline_bench.h"

int main(int argc, char** argv) {
  using namespace fettle;
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app{
      "fettle-bench: measures fettle itself. JSON lines with --json, the last one a summary."};
  app.require_subcommand(1);

  bench::AgentBenchOptions agent;
  CLI::App* agent_command = app.add_subcommand(
      "agent", "the agents: static, size; this machine's own: idle memory, start to registered");
  agent_command->add_flag("--json", agent.json, "JSON lines");
  agent_command->add_option("--agents", agent.agents, "folder with ARCH/fettle-agent");
  agent_command->add_option("--starts", agent.starts, "starts of which the median is told")
      ->check(CLI::Range(1u, 1000u));

  bench::PipelineBenchOptions pipeline;
  CLI::App* pipeline_command = app.add_subcommand(
      "pipeline", "the device's busy share and the overhead of a trial, through the real loop");
  pipeline_command->add_flag("--json", pipeline.json, "JSON lines");
  pipeline_command->add_option("--kernel-ms", pipeline.kernel_ms, "about how long a kernel runs")
      ->check(CLI::Range(0.1, 200.0))
      ->capture_default_str();
  pipeline_command->add_option("--trials", pipeline.trials, "trials that count")
      ->check(CLI::Range(10u, 100000u))
      ->capture_default_str();
  pipeline_command->add_option("--builders", pipeline.builders,
                               "compiler processes; 0: one per core that the device leaves free");
  pipeline_command->add_option("--threads", pipeline.threads,
                               "cores of the device; 0: all but one");
  pipeline_command->add_option("--seed", pipeline.seed, "of the configurations")
      ->capture_default_str();

  CLI11_PARSE(app, argc, argv);

  Result<void> done;
  if (agent_command->parsed()) done = bench::run_agent_bench(agent);
  if (pipeline_command->parsed()) done = bench::run_pipeline_bench(pipeline);
  if (done) return 0;
  std::fprintf(stderr, "fettle-bench: %s\n", done.error().text().c_str());
  return 1;
}
