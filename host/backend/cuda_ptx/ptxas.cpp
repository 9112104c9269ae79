// Running ptxas (ptxas.h).
#include "host/backend/cuda_ptx/ptxas.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

extern char** environ;

namespace fettle::backend::cuda_ptx {
namespace {

namespace fs = std::filesystem;

// A folder of its own that goes with it.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (fs::temp_directory_path() / "fettle-ptxas-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  bool there() const { return !path_.empty(); }
  fs::path file(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Ran {
  int status = -1;
  std::string said;  // on both streams
};

// The program with these words; its output goes by way of a file.
Ran run(std::vector<std::string> words, const fs::path& output) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  Ran ran;
  pid_t child = 0;
  if (posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ) == 0) {
    while (waitpid(child, &ran.status, 0) < 0 && errno == EINTR) {
    }
    ran.said = contents(output);
  }
  posix_spawn_file_actions_destroy(&actions);
  return ran;
}

std::string place_of_ptxas() {
  std::vector<fs::path> places;
  if (const char* named = std::getenv("FETTLE_PTXAS")) return named;
  if (const char* path = std::getenv("PATH")) {
    std::stringstream folders(path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      if (!folder.empty()) places.push_back(fs::path(folder) / "ptxas");
    }
  }
  places.emplace_back("/usr/local/cuda/bin/ptxas");
  for (const fs::path& place : places) {
    if (access(place.c_str(), X_OK) == 0) return place.string();
  }
  return "";
}

// 1300 of "…, release 13.0, V13.0.88"; 0: it says no such thing.
int toolkit_version(const std::string& said) {
  const std::size_t at = said.find("release ");
  int major = 0, minor = 0;
  if (at == std::string::npos || std::sscanf(&said[at], "release %d.%d", &major, &minor) != 2) {
    return 0;
  }
  return major * 100 + minor;
}

}  // namespace

const Ptxas* find_ptxas() {
  static const Ptxas found = [] {
    Ptxas ptxas{place_of_ptxas()};
    const Scratch scratch;
    if (!ptxas.path.empty() && scratch.there()) {
      ptxas.cuda = toolkit_version(run({ptxas.path, "--version"}, scratch.file("said")).said);
    }
    return ptxas;
  }();
  return found.cuda > 0 ? &found : nullptr;
}

std::vector<KernelFacts> read_report(const std::string& report) {
  std::vector<KernelFacts> kernels;
  std::stringstream lines(report);
  for (std::string line; std::getline(lines, line);) {
    std::array<char, 256> name{};
    const char* at = nullptr;
    if (const auto entry = line.find("entry function '"); entry != std::string::npos) {
      std::sscanf(&line[entry], "entry function '%255[^']'", name.data());
      kernels.push_back({name.data()});
    }
    if (kernels.empty()) continue;
    KernelFacts& kernel = kernels.back();
    long long stack = 0, stores = 0, loads = 0;
    if (std::sscanf(line.c_str(), " %lld bytes stack frame, %lld bytes spill stores, %lld bytes",
                    &stack, &stores, &loads) == 3) {
      kernel.stack_bytes = stack, kernel.spill_store_bytes = stores;
      kernel.spill_load_bytes = loads;
    }
    if (const auto used = line.find("Used "); used != std::string::npos) {
      std::sscanf(&line[used], "Used %d registers", &kernel.registers);
      const auto shared = line.find(" bytes smem");
      if (shared != std::string::npos) {
        std::size_t begin = shared;
        while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1]))) --begin;
        at = &line[begin];
        kernel.shared_bytes = std::atoll(at);
      }
    }
  }
  return kernels;
}

Result<Assembled> assemble(const std::string& ptx, const space::GpuTarget& target) {
  const Ptxas* ptxas = find_ptxas();
  if (ptxas == nullptr) return Error{ErrorCode::Unsupported, "there is no ptxas here"};
  const Scratch scratch;
  if (!scratch.there()) return Error{ErrorCode::Internal, "no folder for ptxas can be made"};
  std::ofstream(scratch.file("candidate.ptx")) << ptx;
  const fs::path cubin = scratch.file("candidate.cubin");
  const Ran ran = run({ptxas->path, "-v", "-arch=sm_" + std::to_string(target.sm),
                       scratch.file("candidate.ptx").string(), "-o", cubin.string()},
                      scratch.file("said"));
  if (ran.status != 0) {
    const bool unknown = ran.said.find("is not defined for option 'gpu-name'") != std::string::npos;
    return Error{unknown ? ErrorCode::Unsupported : ErrorCode::BuildError, "ptxas: " + ran.said};
  }
  Assembled out;
  const std::string bytes = contents(cubin);
  out.cubin.assign(bytes.begin(), bytes.end());
  out.kernels = read_report(ran.said);
  return out;
}

}  // namespace fettle::backend::cuda_ptx
