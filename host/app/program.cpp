// The command line (program.h).
#include "host/app/program.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>

#include <fmt/format.h>

#include "host/app/build_version.h"
#include "host/app/command_line.h"
#include "host/app/commands.h"
#include "host/app/message.h"
#include "host/app/output_file.h"
#include "host/app/version.h"
#include "host/backend/llvm_emit/llvm_version.h"

namespace fettle::app {
namespace {

// Standard streams that are closed would become the first files and sockets that are opened.
// Reading only: writing to them stays an error.
void hold_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) ::open("/dev/null", O_RDONLY);
  }
}

// What `ps` shows: of a process that was started by /proc/self/exe it would be "exe".
void take_own_name(int argc, char** argv) {
  if (argc < 1) return;
  const std::string path = argv[0];
  ::prctl(PR_SET_NAME, path.substr(path.rfind('/') + 1).c_str());
}

// With what must be the same for build workers to be asked.
std::string version_text() {
  const auto build = build_version();
  return fmt::format("fettle {}\nLLVM {}\nbuild {}", kVersion, backend::llvm_version(),
                     build ? *build : "unknown: " + build.error().text());
}

int run(int argc, char** argv) {
  CLI::App app{"fettle makes neural-network kernels fast on small boards.", "fettle"};
  app.set_version_flag("--version", version_text, "Its version, LLVM's, and its build's");
  app.require_subcommand(1);
  app.get_formatter()->column_width(30);
  int status = kFine;
  add_tune_command(app, status);
  add_devices_command(app, status);
  add_broker_command(app, status);
  add_build_worker_command(app, status);
  add_farm_command(app, status);
  add_records_command(app, status);
  add_flash_command(app, status);
  add_keys_command(app, status);
  add_tasks_command(app, status);
  add_build_command(app, status);
  add_export_command(app, status);
  add_run_command(app, status);
  add_zoo_command(app, status);
  add_quantize_command(app, status);
  add_explain_command(app, status);
  add_completion_command(app, status);
  app.footer("Exit status: 0 fine, 1 error, 2 wrong usage, 130 interrupted.");
  try {
    const auto ended =
        read_command_line(app, argc, argv, [](const std::string& wrong) { fail(wrong); });
    if (ended) return *ended;
  } catch (const std::exception& error) {  // no memory, no thread
    return fail(error.what());
  }
  return status;
}

// `status`, but that of an error where standard output could not take everything.
int after_output(int status) {
  errno = 0;
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (written) return status;
  if (reader_is_gone()) return status == kFine ? kFailed : status;  // it had enough: `| head`
  const std::string why = errno != 0 ? std::string(": ") + std::strerror(errno) : "";
  const int failed = fail("cannot write all of standard output" + why);
  return status == kFine ? failed : status;
}

}  // namespace

int run_program(int argc, char** argv) {
  // A closed pipe and a file-size limit are errors of that write, not our end.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  // Whoever started us may ignore it: nobody would then be told how our children ended.
  struct sigaction children{};
  if (::sigaction(SIGCHLD, nullptr, &children) == 0 && children.sa_handler == SIG_IGN) {
    std::signal(SIGCHLD, SIG_DFL);
  }
  hold_standard_streams();
  take_own_name(argc, argv);
  return after_output(run(argc, argv));
}

}  // namespace fettle::app
