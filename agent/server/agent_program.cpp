// What the agent does (agent_program.h).
#include "agent/server/agent_program.h"

#include <fcntl.h>
#include <sched.h>
#include <sodium.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "agent/device/registry.h"
#include "agent/device/vta/vta_device.h"
#include "agent/platform/address_layout.h"
#include "agent/platform/board.h"
#include "agent/platform/clock_pin.h"
#include "agent/platform/cpu_facts.h"
#include "agent/server/log.h"
#include "agent/server/notify.h"
#include "agent/server/self_test.h"
#include "agent/server/supervisor.h"
#include "agent/worker/worker_start.h"
#include "schemas/wire/native_arch.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace fettle::agent {
namespace {

// What a sanitizer finds in a worker is to be seen whole.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kPipeWorkers = false;
#else
constexpr bool kPipeWorkers = true;
#endif

int usage_error(const Error& error) {
  std::fprintf(stderr, "fettle-agent: %s\n", error.text().c_str());
  return kExitUsage;
}

std::vector<std::uint32_t> measured_cores(const std::vector<wire::DeviceInfoT>& devices) {
  std::vector<std::uint32_t> cores;
  for (const auto& device : devices) {
    if (device.cpu) cores.insert(cores.end(), device.cpu->cores.begin(), device.cpu->cores.end());
  }
  return cores;
}

// The supervisor, and what is measured elsewhere, keep off the cores that are measured, where
// there are others.
void leave_device_cores(const std::vector<wire::DeviceInfoT>& devices) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (std::uint32_t core : usable_cores()) CPU_SET(core, &set);
  for (std::uint32_t core : measured_cores(devices)) CPU_CLR(core, &set);
  if (CPU_COUNT(&set) > 0) sched_setaffinity(0, sizeof set, &set);
}

// Not under an emulator: started again, it would lose the CPU that it was told to be.
bool wants_fixed_layout(const AgentOptions& options) {
  if (options.randomize_addresses || options.mode != AgentOptions::Mode::Serve) return false;
  for (const DeviceConfig& device : options.devices) {
    if (device.emulated) return false;
  }
  return true;
}

// Workers' addresses are laid out alike, those of the process that holds the key are not: so the
// nursery is this program started once more, and finds here that it is.
struct NurseryPlace {
  static constexpr const char* kVariable = "FETTLE_NURSERY";
  int socket = -1;
  pid_t supervisor = 0;

  static std::optional<NurseryPlace> from_environment() {
    const char* text = std::getenv(kVariable);
    NurseryPlace out;
    if (text == nullptr || std::sscanf(text, "%d %d", &out.socket, &out.supervisor) != 2) {
      return std::nullopt;
    }
    unsetenv(kVariable);
    return out;
  }
  static void execute(char** argv, int socket, pid_t supervisor) {
    fcntl(socket, F_SETFD, 0);
    execute_with_fixed_layout(argv, kVariable,
                              std::to_string(socket) + " " + std::to_string(supervisor));
    fcntl(socket, F_SETFD, FD_CLOEXEC);
  }
};

int run_agent(char** argv, const std::vector<std::string>& arguments) {
  auto options = parse_options(arguments);
  if (!options) return usage_error(options.error());
  if (options->mode == AgentOptions::Mode::Help) {
    std::fputs(option_help().c_str(), stdout);
    return 0;
  }
  if (options->mode == AgentOptions::Mode::Version) {
    std::printf("fettle-agent %s (%s)\n", agent_version(), native_arch());
    return 0;
  }
  const auto place = NurseryPlace::from_environment();
  set_log_level(options->log_level);
  auto service = ServiceNotifier::from_environment();
  if (sodium_init() < 0) {
    return usage_error({ErrorCode::Unsupported, "no source of random numbers on this system"});
  }
  if (options->mode == AgentOptions::Mode::MakeKey) {
    const auto made = make_key_file(options->make_key_file);
    if (!made) return usage_error(made.error());
    std::printf("%s\n", made->c_str());
    return 0;
  }
  if (options->mode == AgentOptions::Mode::CheckConfig) {
    if (const auto own = load_key_pair(*options); !own) return usage_error(own.error());
    if (const auto key = load_broker_key(*options); !key) return usage_error(key.error());
    std::printf("fine: %zu device(s) for the broker at %s\n", options->devices.size(),
                options->broker.c_str());
    return 0;
  }

  const SystemRoot root;
  if (options->mode == AgentOptions::Mode::FpgaHelper) {
    return run_fpga_helper(root, helper_devices(options->devices));
  }
  if (auto found = find_fpga_helper(options->devices, root); !found) {
    return usage_error(found.error());
  }
  std::uint64_t instance = 0;
  while (instance == 0) randombytes_buf(&instance, sizeof instance);
  const wire::BoardT board = read_board(root, options->board_model, instance);
  for (std::uint32_t core : options->left_over_cores) {
    if (place) break;
    log(LogLevel::Warning,
        "core %u (MIDR %08llx) is of no profile of this board and so no device; to use it, name "
        "a [[device]] with device-cores, or its midr in the profile",
        core, static_cast<unsigned long long>(core_midr(root, core)));
  }
  std::vector<wire::DeviceInfoT> devices;
  for (const DeviceConfig& config : options->devices) {
    devices.push_back(find_device_row(config.kind)->describe(config, root));
  }

  PinnedClocks clocks;
  if (place) {
    // The supervisor has seen to them.
  } else if (options->pin_khz > 0) {
    std::vector<std::string> refused;
    auto pinned = PinnedClocks::pin(root, measured_cores(devices), options->pin_khz, refused);
    if (!pinned) return usage_error(pinned.error());
    clocks = std::move(*pinned);
    for (const std::string& line : refused) log(LogLevel::Warning, "%s", line.c_str());
  } else {
    for (const std::string& name : PinnedClocks::give_back_abandoned(root)) {
      log(LogLevel::Info, "%s is as it was before an agent that was killed", name.c_str());
    }
  }

  // In every worker's way, whatever its kind: this agent's key, and those of its user.
  WorkerTerms terms{options->allow_unsandboxed, options->hidden};
  if (!options->key_file.empty()) terms.hidden.push_back(options->key_file);
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') {
    for (const char* name : {"/.ssh", "/.gnupg", "/.config/fettle"}) {
      terms.hidden.push_back(home + std::string(name));
    }
  }

  // Forked now, while there is one thread; the workers inherit what was read so far, and
  // candidates can read it: the secret key comes later, its descriptor is closed.
  const WorkerMain worker_main = [&](std::uint32_t device, int socket, int status_memory) {
    if (options->key_fd >= 0) ::close(options->key_fd);
    if (device >= devices.size()) return 1;
    if (!devices[device].cpu) leave_device_cores(devices);  // a driver's threads, too
    return start_worker(devices[device], options->worker_gpu, socket, status_memory, terms);
  };
  if (place) {
    fcntl(place->socket, F_SETFD, FD_CLOEXEC);
    Nursery::serve(place->socket, place->supervisor, worker_main);
  }
  const bool serves = options->mode == AgentOptions::Mode::Serve;
  Nursery::Before before;
  if (wants_fixed_layout(*options)) {
    before = [&](int socket, pid_t supervisor) { NurseryPlace::execute(argv, socket, supervisor); };
  }
  auto nursery = Nursery::start(
      worker_main, serves && kPipeWorkers ? WorkerOutput::Piped : WorkerOutput::Shared, before);
  if (!nursery) return usage_error(nursery.error());
  prctl(PR_SET_DUMPABLE, 0);  // the key is going to be in this memory: nobody reads it from outside
  leave_device_cores(devices);
  if (options->mode == AgentOptions::Mode::SelfTest) {
    std::vector<bool> may_be_missing;
    for (const DeviceConfig& device : options->devices) may_be_missing.push_back(device.beside);
    return self_test(board, devices, may_be_missing, std::move(*nursery));
  }

  auto own = load_key_pair(*options);
  if (!own) return usage_error(own.error());
  const auto broker_key = load_broker_key(*options);
  if (!broker_key) return usage_error(broker_key.error());
  auto link = BrokerLink::open(options->broker, *broker_key, *own);
  if (!link) return usage_error(link.error());
  sodium_memzero(own->secret_key.data(), own->secret_key.size());
  Supervisor supervisor(*options, board, std::move(devices), std::move(*nursery), std::move(*link),
                        own->public_key, std::move(service));
  return supervisor.run();
}

}  // namespace

int run_agent_program(int argc, char** argv) {
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, 1);  // small: the second thread is libzmq's and allocates little
#endif
  std::signal(SIGPIPE, SIG_IGN);
  const int status = run_agent(argv, {argv + 1, argv + argc});
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  std::fputs("fettle-agent: cannot write all of standard output\n", stderr);
  return status == 0 ? kExitBroken : status;
}

}  // namespace fettle::agent
