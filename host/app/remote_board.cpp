// Boards over ssh (remote_board.h).
#include "host/app/remote_board.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "host/fleet/allow_list.h"
#include "host/fleet/keys.h"
#include "host/process/child_process.h"
#include "schemas/wire/bounded_read.h"

namespace fettle::app {
namespace {

// A file in memory, for a child's standard input or output.
class MemoryFile {
 public:
  MemoryFile() : fd_(::memfd_create("fettle-ssh", MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  int fd() const { return fd_; }

  bool fill(const std::string& text) const {
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t wrote = ::write(fd_, text.data() + at, text.size() - at);
      if (wrote < 0 && errno != EINTR) return false;
      if (wrote > 0) at += static_cast<std::size_t>(wrote);
    }
    return ::lseek(fd_, 0, SEEK_SET) == 0;
  }
  std::string text() const {
    std::string all;
    char piece[4096];
    for (off_t at = 0;; at = static_cast<off_t>(all.size())) {
      const ssize_t got = ::pread(fd_, piece, sizeof piece, at);
      if (got <= 0) return all;
      all.append(piece, static_cast<std::size_t>(got));
    }
  }

 private:
  int fd_;
};

// Before a command that needs root.
constexpr const char* kAsRoot = "S=; [ \"$(id -u)\" = 0 ] || S='sudo -n'; ";

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// What a board says of itself before anything is installed there.
struct BoardFacts {
  std::string architecture, hostname;
  std::string public_key;  // of an agent that was there before; else empty
};

Result<BoardFacts> ask_facts(const RemoteBoard& board) {
  auto said =
      board.run(std::string(kAsRoot) +
                "$S true && dpkg --print-architecture && hostname && "
                "{ $S sed -n 's/^public //p' /var/lib/fettle/agent.key 2>/dev/null || :; }");
  if (!said) {
    return std::move(said).error().in(
        "asking the board what it is (needs dpkg there, and root or sudo without a password)");
  }
  BoardFacts facts;
  std::istringstream lines(*said);
  std::getline(lines, facts.architecture);
  std::getline(lines, facts.hostname);
  std::getline(lines, facts.public_key);
  return facts;
}

Result<std::string> read_file(const std::string& path) {
  auto all = read_whole(path, kMostPackageBytes);
  if (!all) return std::move(all).error().in("reading the package");
  return all;
}

// build/packages lies beside build/bin, where this program is.
Result<std::string> package_for(const std::string& architecture) {
  auto program = process::own_executable();
  if (!program) return std::move(program).error();
  const auto folder = std::filesystem::path(*program).parent_path().parent_path() / "packages";
  std::string found;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("fettle-agent_") && name.ends_with("_" + architecture + ".deb")) {
      // 0.10 is later than 0.9.
      if (strverscmp(found.c_str(), entry.path().c_str()) < 0) found = entry.path();
    }
  }
  if (!found.empty()) return found;
  return Error{ErrorCode::NotFound,
               fmt::format("no package of the agent for {} in {}: make it with ./dev packages, or "
                           "name one with --package",
                           architecture, folder.string()),
               {}};
}

// Whether the agent's self-test found a sandbox, run as the service's user. In its own words why
// not; "": it did, or failed of something else, which its registration will show.
Result<std::string> why_unsandboxed(const RemoteBoard& board) {
  auto said = board.run(std::string(kAsRoot) +
                        "$S systemctl stop fettle-agent && { $S runuser -u fettle-agent -- "
                        "fettle-agent --self-test 2>&1 || :; }");
  if (!said) return std::move(said).error().in("asking the agent for its sandbox");
  const std::size_t named = said->find("--allow-unsandboxed");
  if (named == said->npos) return std::string();
  const std::size_t before = said->rfind('\n', named);
  return first_line(said->substr(before == said->npos ? 0 : before + 1));
}

// True: candidates may run without one, which the configuration then says.
Result<bool> settle_sandbox(const RemoteBoard& board, const InstallPlan& plan) {
  for (const std::string& line : plan.settings) {
    if (line.find("allow-unsandboxed") != line.npos) return false;  // it is settled
  }
  const auto why = why_unsandboxed(board);
  if (!why) return why.error();
  if (why->empty()) return false;
  if (plan.may_run_unsandboxed && plan.may_run_unsandboxed(*why)) return true;
  return Error{ErrorCode::Unsupported,
               "the board cannot hold candidates, and its agent refuses to run them: " + *why,
               {}};
}

// A string of the agent's configuration (TOML). Nothing that ends the string may be in it.
Result<std::string> quoted(const std::string& text) {
  const bool fits = std::none_of(text.begin(), text.end(), [](unsigned char c) {
    return c < ' ' || c == '"' || c == '\\' || c == 0x7f;
  });
  if (fits) return "\"" + text + "\"";
  return Error{
      ErrorCode::InvalidArgument, "quotes and backslashes cannot be in '" + text + "'", {}};
}

Result<std::string> configuration(const InstallPlan& plan) {
  std::string text;
  for (const auto& [name, value] :
       {std::pair{"broker", &plan.broker}, std::pair{"broker-key", &plan.broker_key}}) {
    auto quote = quoted(*value);
    if (!quote) return std::move(quote).error();
    text += fmt::format("{} = {}\n", name, *quote);
  }
  text += "key-file = \"/var/lib/fettle/agent.key\"\n";
  for (const std::string& line : plan.settings) text += line + "\n";
  if (!plan.device_key.empty()) {
    auto quote = quoted(plan.device_key);
    if (!quote) return std::move(quote).error();
    text += fmt::format("[[device]]\nkey = {}\n", *quote);
  }
  return text;
}

}  // namespace

Result<std::string> RemoteBoard::run(const std::string& command, const std::string& input) const {
  const MemoryFile in, out;
  if (in.fd() < 0 || out.fd() < 0 || !in.fill(input)) {
    return Error{ErrorCode::Io, std::string("memory for ssh: ") + std::strerror(errno), {}};
  }
  process::ChildPlan plan;
  plan.argv = ssh_;
  plan.argv.insert(plan.argv.end(), {target_, command});
  plan.descriptors = {{in.fd(), 0}, {out.fd(), 1}, {STDERR_FILENO, 2}};
  auto child = process::start_child(plan);
  if (!child) return std::move(child).error().in("starting ssh");
  int status = 0;
  while (::waitpid(*child, &status, 0) < 0) {
    if (errno == EINTR) continue;
    return Error{ErrorCode::Io, std::string("waiting for ssh: ") + std::strerror(errno), {}};
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return out.text();
  return Error{ErrorCode::Unreachable,
               fmt::format("ssh {}: {}", target_, process::describe_wait_status(status)),
               {}};
}

Result<InstalledBoard> install_agent(const RemoteBoard& board, const InstallPlan& given,
                                     const std::string& allow_file) {
  InstallPlan plan = given;
  if (auto text = configuration(plan); !text) return std::move(text).error();
  const auto allowed = fleet::load_allow_list(allow_file);
  if (!allowed) return allowed.error();
  const auto facts = ask_facts(board);
  if (!facts) return facts.error();
  InstalledBoard installed;
  installed.hostname = facts->hostname;
  installed.name = plan.name.empty() ? facts->hostname : plan.name;
  for (const auto& entry : *allowed) {
    if (plan.name.empty() && entry.public_key == facts->public_key) installed.name = entry.name;
  }
  if (auto fits =
          fleet::check_permission(*allowed, {installed.name, wire::Role::Agent, facts->public_key});
      !fits) {
    return std::move(fits).error().in("choosing the board's --name");
  }

  std::string path = plan.package;
  if (path.empty()) {
    auto found = package_for(facts->architecture);
    if (!found) return std::move(found).error();
    path = std::move(*found);
  }
  auto package = read_file(path);
  if (!package) return std::move(package).error();
  // The user's own configuration stays until it is replaced below; dpkg asks nobody.
  auto key = board.run(std::string(kAsRoot) +
                           "f=$(mktemp /tmp/fettle-agent.XXXXXX) || exit; "
                           "trap 'rm -f \"$f\"' EXIT; trap 'exit 1' HUP INT PIPE TERM; "
                           "cat >\"$f\" && $S env DEBIAN_FRONTEND=noninteractive "
                           "dpkg --force-confold --install \"$f\" >&2 "
                           "&& $S fettle-agent --make-key /var/lib/fettle/agent.key",
                       *package);
  if (!key) {
    return std::move(key).error().in("installing " + path +
                                     " (needs root there, or sudo without a password)");
  }
  installed.public_key = first_line(*key);
  if (auto fits = fleet::check_public_key(installed.public_key); !fits) {
    return std::move(fits).error().in("reading the board's public key");
  }
  const auto unsandboxed = settle_sandbox(board, plan);
  if (!unsandboxed) return unsandboxed.error();
  if (*unsandboxed) plan.settings.emplace_back("allow-unsandboxed = true");
  const auto text = configuration(plan);
  if (!text) return text.error();
  if (auto let_in =
          fleet::allow_key(allow_file, {installed.name, wire::Role::Agent, installed.public_key});
      !let_in) {
    return std::move(let_in).error();
  }
  auto configured = board.run(std::string(kAsRoot) +
                                  "c=/etc/fettle/agent.toml; $S systemctl stop fettle-agent && "
                                  "$S cp -p $c $c.before && $S tee $c >/dev/null",
                              *text);
  if (!configured) return std::move(configured).error().in("configuring the agent");
  return installed;
}

Result<void> start_agent(const RemoteBoard& board) {
  auto started = board.run(std::string(kAsRoot) + "$S systemctl start fettle-agent");
  if (!started) return std::move(started).error().in("starting the agent");
  return {};
}

}  // namespace fettle::app
