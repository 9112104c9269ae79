// fettle-run: a network file run and timed on the board at hand, by one static program.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/run/run_network.h"

int main(int argc, char** argv) {
  const auto start = std::chrono::steady_clock::now();
  CLI::App app("Runs a network that `fettle build` wrote, on this machine, and times it.",
               "fettle-run");
  fettle::run::RunOptions options;
  fettle::run::add_run_options(app, options);
  app.set_version_flag("--version", FETTLE_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "fettle-run: %s (fettle-run --help)\n", error.what());
    return 2;
  }
  auto report = fettle::run::run_network(options, start);
  if (!report) {
    std::fprintf(stderr, "fettle-run: %s\n", report.error().text().c_str());
    return 1;
  }
  const std::string text = options.json ? json_of(*report) : text_of(*report);
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return 0;
  std::fprintf(stderr, "fettle-run: cannot write standard output: %s\n", std::strerror(errno));
  return 1;
}
