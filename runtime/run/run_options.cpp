// The options of a run (run_options.h).
#include "runtime/run/run_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "agent/platform/cpu_facts.h"

namespace fettle::run {
namespace {

// What an option says of a text that it does not take.
std::string refused(const std::string& text, const std::string& takes) {
  return takes + ", not '" + text + "'";
}

// "a,b,c" of floats; "" or what is wrong.
std::string read_three(const std::string& text, float (&to)[3]) {
  std::size_t at = 0;
  for (float& value : to) {
    char* end = nullptr;
    value = std::strtof(text.c_str() + at, &end);
    const auto used = static_cast<std::size_t>(end - text.c_str());
    const bool last = &value == &to[2];
    if (used == at || text[used] != (last ? '\0' : ',') || !std::isfinite(value)) {
      return refused(text, "takes three numbers: r,g,b");
    }
    at = used + 1;
  }
  return "";
}

std::string read_seed(const std::string& text, std::uint64_t& seed) {
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, seed);
  if (read.ec == std::errc() && read.ptr == end) return "";
  return refused(text, "takes a whole number from 0 to 18446744073709551615");
}

std::string read_size(const std::string& text, ImageRule& rule) {
  int used = 0;
  const bool read = std::sscanf(text.c_str(), "%dx%d%n", &rule.height, &rule.width, &used) == 2 &&
                    static_cast<std::size_t>(used) == text.size();
  if (!read || rule.height < 1 || rule.width < 1 || rule.height > 1 << 14 || rule.width > 1 << 14) {
    return refused(text, "takes HxW, as in 256x256");
  }
  return "";
}

// "0,2-3". Each once, and one that there is: elsewhere it would not be pinned.
std::string read_cores(const std::string& text, std::vector<std::uint32_t>& cores) {
  const std::vector<std::uint32_t> usable = agent::usable_cores();
  const auto among = [](const std::vector<std::uint32_t>& list, std::uint32_t core) {
    return std::find(list.begin(), list.end(), core) != list.end();
  };
  const char *at = text.data(), *end = at + text.size();
  while (true) {
    std::uint32_t first = 0;
    auto read = std::from_chars(at, end, first);
    std::uint32_t last = first;
    if (read.ec == std::errc() && read.ptr != end && *read.ptr == '-') {
      read = std::from_chars(read.ptr + 1, end, last);
    }
    const bool more = read.ptr != end && *read.ptr == ',';
    if (read.ec != std::errc() || last < first || last >= 4096 || (read.ptr != end && !more)) {
      return refused(text, "takes cores: 0,2-3");
    }
    for (std::uint32_t core = first; core <= last; ++core) {
      const std::string named = "names core " + std::to_string(core);
      if (!among(usable, core)) return named + ", which this process may not use";
      if (among(cores, core)) return named + " twice";
      cores.push_back(core);
    }
    if (!more) return "";
    at = read.ptr + 1;
  }
}

std::string read_input(const std::string& text, RunOptions& options) {
  const std::size_t equal = text.find('=');
  const std::string name = equal == std::string::npos ? "" : text.substr(0, equal);
  const std::string file = equal == std::string::npos ? text : text.substr(equal + 1);
  if (file.empty()) return refused(text, "takes NAME=FILE");
  options.inputs.emplace_back(name, file);
  return "";
}

// An option with a reader of its own, whose complaint names the option.
template <typename Read>
CLI::Option* add_read(CLI::App& app, const char* name, const char* type, const char* help,
                      Read read) {
  return app
      .add_option_function<std::vector<std::string>>(
          name,
          [name, read](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              if (const std::string wrong = read(text); !wrong.empty()) {
                throw CLI::ValidationError(std::string(name) + " " + wrong);
              }
            }
          },
          help)
      ->type_name(type)
      ->allow_extra_args(false);
}

}  // namespace

void add_image_options(CLI::App& app, ImageRule& rule) {
  add_read(app, "--mean", "R,G,B", "of an image's channels, in [0, 1]: 0.485,0.456,0.406",
           [&](const std::string& text) { return read_three(text, rule.mean); });
  add_read(app, "--std", "R,G,B", "of an image's channels: 0.229,0.224,0.225",
           [&](const std::string& text) {
             const std::string wrong = read_three(text, rule.std);
             const auto& std = rule.std;
             return !wrong.empty() || (std[0] != 0 && std[1] != 0 && std[2] != 0)
                        ? wrong
                        : refused(text, "takes numbers that are not 0");
           });
  add_read(app, "--size", "HxW", "resize an image to this and take its middle: 256x256",
           [&](const std::string& text) { return read_size(text, rule); });
}

void add_run_options(CLI::App& app, RunOptions& options) {
  app.add_option("network", options.network, "the network file")->required()->type_name("FILE");
  add_read(app, "--input", "NAME=FILE",
           "an input out of a .npy, a .npz or an image (PNG, JPEG, PPM, BMP); the name may be left "
           "out where there is one input, or of a .npz that holds all by their names",
           [&](const std::string& text) { return read_input(text, options); });
  add_read(app, "--random", "SEED", "seed of the inputs that have no file (1)",
           [&](const std::string& text) { return read_seed(text, options.seed); });
  app.add_option("--output", options.output, "write the outputs: a folder (.npy) or an .npz")
      ->type_name("PATH");
  app.add_option("--threads", options.loading.threads,
                 "threads; otherwise as many as it was built for, where there are as many cores")
      ->check(CLI::Range(1u, 1024u))
      ->type_name("N");
  add_read(app, "--cores", "LIST", "cores that the threads are pinned to: 0,2-3",
           [&](const std::string& text) { return read_cores(text, options.loading.cores); });
  app.add_option("--cpu", options.loading.cpu,
                 "LLVM's name of the core where the system does not tell it")
      ->type_name("NAME");
  app.add_option("--memory", options.memory_mib,
                 "MiB that the network may take; otherwise what is free")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 24))
      ->type_name("MIB");
  app.add_option("--runs", options.runs,
                 "timed runs; otherwise ten or more, for a second or longer")
      ->check(CLI::Range(1u, 100'000'000u))
      ->type_name("N");
  app.add_flag("--profile", options.profile, "tell the time of each layer");
  app.add_flag("--json", options.json, "tell everything as JSON");
  app.add_flag("--check", options.check,
               "look at all of the file first: whether its weights are whole");
  app.add_option("--top", options.top, "tell the K classes of the highest scores, of each row")
      ->check(CLI::Range(1u, 1'000'000u))
      ->type_name("K");
  app.add_option("--labels", options.labels, "names of the classes, one a line")->type_name("FILE");
  add_image_options(app, options.image);
}

}  // namespace fettle::run
