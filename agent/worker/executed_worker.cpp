// Executing worker programs, and being one (executed_worker.h).
#include "agent/worker/executed_worker.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "agent/worker/request_link.h"
#include "agent/worker/worker.h"

namespace fettle::agent {
namespace {

#ifndef MFD_EXEC
constexpr unsigned kMayExecute = 0x10;  // of memfd_create, since Linux 6.3
#else
constexpr unsigned kMayExecute = MFD_EXEC;
#endif
constexpr unsigned kCloseOnExec = 1;
constexpr const char* kSandboxed = "sandboxed";  // the fourth argument: WorkerTerms
constexpr const char* kUnsandboxed = "allow-unsandboxed";

// A memory file that may be executed, also where the system's default says otherwise.
Result<OwnedFd> make_executable(ByteView bytes) {
  auto make = [](unsigned flags) {
    return OwnedFd(static_cast<int>(syscall(__NR_memfd_create, "fettle-worker", flags)));
  };
  OwnedFd fd = make(kCloseOnExec | kMayExecute);
  if (!fd && errno == EINVAL) fd = make(kCloseOnExec);  // an older kernel: they all may
  while (fd && !bytes.empty()) {
    const ssize_t n = write(fd.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fd = OwnedFd();
    if (n > 0) bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  if (!fd) return Error{ErrorCode::Io, std::strerror(errno)};
  return fd;
}

Result<wire::DeviceInfoT> read_info(int fd) {
  struct stat facts{};
  if (fstat(fd, &facts) != 0) return Error{ErrorCode::Io, std::strerror(errno)};
  Bytes bytes(static_cast<std::size_t>(facts.st_size));
  const ssize_t n = pread(fd, bytes.data(), bytes.size(), 0);
  close(fd);
  if (n != facts.st_size) return Error{ErrorCode::Io, "cannot be read"};
  return decode_device_info(bytes);
}

}  // namespace

Error execute_worker(ByteView embedded, const std::string& path, const wire::DeviceInfoT& info,
                     int socket, int status_memory, const WorkerTerms& terms) {
  const Bytes said = encode(info);
  const ByteView pieces[] = {said};
  const auto memory = make_sealed_memory("fettle-device", pieces);
  if (!memory) return memory.error();
  fcntl(memory->get(), F_SETFD, 0);
  std::vector<std::string> words = {path.empty() ? "fettle-worker-gpu" : path,
                                    std::to_string(socket), std::to_string(status_memory),
                                    std::to_string(memory->get()),
                                    terms.allow_unsandboxed ? kUnsandboxed : kSandboxed};
  words.insert(words.end(), terms.hidden.begin(), terms.hidden.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  if (!path.empty()) {
    execve(path.c_str(), arguments.data(), environ);
    return {ErrorCode::NotFound,
            "cannot execute the worker program " + path + ": " + std::strerror(errno)};
  }
  if (embedded.empty()) {
    return {
        ErrorCode::Unsupported,
        "this agent was built without the worker program for it (`./dev setup cuda`, then `./dev "
        "agents`, for CUDA); --worker-gpu names its file"};
  }
  const auto program = make_executable(embedded);
  if (program) syscall(__NR_execveat, program->get(), "", arguments.data(), environ, AT_EMPTY_PATH);
  const std::string why = program ? std::strerror(errno) : program.error().message;
  return {ErrorCode::Unsupported, "cannot execute the embedded worker program: " + why +
                                      " (a kernel before 3.19, one that forbids it, or no "
                                      "/lib/ld-linux); --worker-gpu names its file instead"};
}

int executed_worker_main(int argc, char** argv, std::span<const WorkerRow> rows) {
  if (argc < 5) {
    std::fprintf(stderr, "%s: a part of fettle-agent, which starts it\n", argv[0]);
    return 2;
  }
  const int socket = std::atoi(argv[1]), status_memory = std::atoi(argv[2]);
  auto info = read_info(std::atoi(argv[3]));
  if (!info) return refuse_device(socket, std::move(info).error().in("reading what to open"));
  const WorkerTerms terms{argv[4] == std::string(kUnsandboxed), {argv + 5, argv + argc}};
  for (const WorkerRow& row : rows) {
    if (row.kind == info->kind) return run_worker(row, *info, socket, status_memory, terms);
  }
  return refuse_device(socket, {ErrorCode::Unsupported,
                                std::string("this worker program drives no device of the kind ") +
                                    wire::EnumNameDeviceKind(info->kind)});
}

}  // namespace fettle::agent
