// fettle flash: a board's image onto an SD card or stick, or the agent onto a board that is
// up and reached over ssh.
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "host/app/commands.h"
#include "host/app/connection.h"
#include "host/app/interrupt.h"
#include "host/app/json_view.h"
#include "host/app/message.h"
#include "host/app/remote_board.h"
#include "host/app/text.h"
#include "host/flash/disk.h"
#include "host/flash/write_image.h"
#include "host/fleet/broker_question.h"

namespace fettle::app {
namespace {

struct FlashCommand {
  std::string image, to;
  std::string ssh, ssh_command = "ssh", broker;  // the agent onto a running board
  int wait_s = 90;                               // until it has registered
  InstallPlan install;
  std::vector<flash::Check> force;
  bool yes = false, allow_unsandboxed = false, json = false;
};

// One line on a terminal, rewritten twice a second: how far, how fast, how long still.
class ProgressLine {
 public:
  void show(const char* phase, std::uint64_t done, std::uint64_t total) {
    const auto now = std::chrono::steady_clock::now();
    if (phase_ != phase) {
      phase_ = phase;
      started_ = shown_ = now;
    }
    if (!terminal_ || (done < total && now - shown_ < std::chrono::milliseconds(500))) return;
    shown_ = now;
    const double seconds = std::chrono::duration<double>(now - started_).count();
    const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
    const auto left =
        std::chrono::duration<double>(rate > 0 ? static_cast<double>(total - done) / rate : 0);
    const std::string line =
        fmt::format("\r{} {} of {} MiB, {:.0f} MiB/s, {} left   {}", phase, done >> 20, total >> 20,
                    rate / (1 << 20), duration_text(left), done == total ? "\n" : "");
    std::fwrite(line.data(), 1, line.size(), stderr);
  }

 private:
  const bool terminal_ = is_redrawable(STDERR_FILENO);
  std::string phase_;
  std::chrono::steady_clock::time_point started_, shown_;
};

// The runs of agents (Board.agent_instance) that the broker counts under that host name.
Result<std::set<std::uint64_t>> agents_of(const fleet::BrokerAddress& address,
                                          const std::string& hostname) {
  const auto list = fleet::list_devices(address, std::chrono::seconds(10));
  if (!list) return list.error();
  std::set<std::uint64_t> agents;
  for (const auto& key : list->keys) {
    for (const auto& board : key->boards) {
      if (board && board->hostname == hostname) agents.insert(board->agent_instance);
    }
  }
  return agents;
}

// Until an agent of that host name has registered that is not among `before`: the broker
// lists one that ended for a while yet, and boards may share a host name.
Result<void> wait_registered(const fleet::BrokerAddress& address, const std::string& hostname,
                             const std::set<std::uint64_t>& before, std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  do {
    const auto now = agents_of(address, hostname);
    if (!now) return now.error();
    if (!std::includes(before.begin(), before.end(), now->begin(), now->end())) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  } while (std::chrono::steady_clock::now() < end);
  return Error{
      ErrorCode::Timeout,
      fmt::format("{} did not register with {} within {} s; there: journalctl -u fettle-agent",
                  hostname, address.url, limit.count()),
      {}};
}

int run_ssh(FlashCommand command) {
  auto home = fleet::fettle_home();
  if (!home) return fail(home.error());
  auto address = broker_address(command.broker, command.install.broker_key);
  if (!address) return fail(address.error());
  command.install.broker_key = address->public_key;
  if (command.install.broker.empty()) command.install.broker = command.broker;
  std::istringstream words(command.ssh_command);
  const RemoteBoard board({std::istream_iterator<std::string>(words), {}}, command.ssh);
  const std::chrono::seconds limit(command.wait_s);
  // Nothing is installed where the end could not be seen.
  if (auto heard = agents_of(*address, ""); !heard) {
    return fail(heard.error());
  }
  command.install.may_run_unsandboxed = [&](const std::string& why) {
    if (command.allow_unsandboxed) return true;
    note("The board says: " + why);
    return ask_for_yes(
        "Run candidates there all the same? Whoever may send programs to it can do then what the "
        "agent's user can. (--allow-unsandboxed says yes without being asked.)");
  };
  const auto installed =
      install_agent(board, command.install, fleet::KeyFolder(*home).allow_file());
  if (!installed) return fail(installed.error());
  const auto before = agents_of(*address, installed->hostname);
  if (!before) return fail(before.error());
  if (auto started = start_agent(board); !started) return fail(started.error());
  note(fmt::format("{}: installed and started; waiting until it registers", installed->hostname));
  if (auto there = wait_registered(*address, installed->hostname, *before, limit); !there) {
    return fail(there.error());
  }
  if (command.json) {
    print_json_line({{"board", installed->hostname},
                     {"name", installed->name},
                     {"public_key", installed->public_key}});
  } else {
    print("{} registered with {}; its key is allowed as \"{}\"\n", installed->hostname,
          address->url, installed->name);
  }
  return kFine;
}

int run(const FlashCommand& command) {
  if (!command.ssh.empty()) return run_ssh(command);
  if (command.image.empty() || command.to.empty()) {
    return fail("--image FILE --to DISK, or --ssh USER@HOST --broker URL"), kUsage;
  }
  const flash::DroppedChecks dropped(command.force.begin(), command.force.end());
  // Both are opened once, here: nothing below goes by their names.
  const auto image = flash::open_image(command.image);
  if (!image) return fail(image.error());
  const auto to = flash::open_disk(command.to, dropped);
  if (!to) return fail(to.error());
  const auto disk = flash::read_disk(*to, dropped);
  if (!disk) return fail(disk.error());
  if (auto whole = flash::check_image(*image, dropped); !whole) return fail(whole.error());
  const auto bytes = flash::image_bytes(*image);
  if (!bytes) return fail(bytes.error());
  if (auto fit = flash::check_disk(*disk, *bytes, dropped); !fit) return fail(fit.error());
  if (!command.yes) {
    note(flash::describe(*disk));
    if (!ask_for_yes("All of it is overwritten by " + command.image + ".")) {
      return fail(command.to + " was left as it is: nobody said yes (--yes asks nobody)");
    }
  }
  Interrupt interrupt;
  ProgressLine line;
  const auto written = flash::write_image(
      *image, *to, [&](const char* phase, std::uint64_t done, std::uint64_t total) {
        line.show(phase, done, total);
        return !interrupt.requested();
      });
  if (!written) {
    fail(written.error());
    return written.error().code == ErrorCode::Canceled ? kInterrupted : kFailed;
  }
  if (command.json) {
    print_json_line({{"image", command.image}, {"disk", command.to}, {"bytes", *bytes}});
  } else {
    print("{} holds {}: {} bytes written and read back\n", command.to, command.image, *bytes);
  }
  return kFine;
}

// For CLI11: a check's name becomes its number.
std::string make_check(std::string& text) {
  const auto& names = flash::check_names();
  if (const auto found = names.find(text); found != names.end()) {
    text = std::to_string(static_cast<int>(found->second));
    return "";
  }
  std::string known;
  for (const auto& [name, check] : names) known += (known.empty() ? "" : ", ") + name;
  return "no check is called \"" + text + "\"; there are: " + known;
}

}  // namespace

void add_flash_command(CLI::App& app, int& status) {
  auto* flash = app.add_subcommand(
      "flash", "Writes a board's image onto a card, and checks it; or installs the agent over ssh");
  auto command = std::make_shared<FlashCommand>();
  auto* image = flash->add_option("--image", command->image, "The image file, not compressed");
  auto* to = flash->add_option("--to", command->to,
                               "The disk, such as /dev/sdb; all of it is overwritten");
  image->needs(to);
  to->needs(image);
  InstallPlan& install = command->install;
  auto* ssh = flash->add_option("--ssh", command->ssh,
                                "USER@HOST of a running board with Debian's dpkg and systemd");
  ssh->excludes(image);
  auto* broker = flash->add_option("--broker", command->broker, "tcp://HOST:PORT of the broker");
  ssh->needs(broker);
  broker->needs(ssh);
  const auto of_ssh = [flash, ssh](const char* name, auto& value, const char* help) {
    return flash->add_option(name, value, help)->needs(ssh);
  };
  of_ssh("--board-broker", install.broker, "The same as the board reaches it");
  of_ssh("--broker-key", install.broker_key,
         "The broker's public key (default: of this account's own broker)");
  of_ssh("--package", install.package,
         "The agent's .deb (default: in build/packages, by the board's architecture)");
  of_ssh("--name", install.name,
         "On the broker's allow list (default: as its key is there, or its host name)");
  of_ssh("--key", install.device_key, "The device key (default: the board recognises itself)");
  of_ssh("--set", install.settings,
         "One more line of the agent's configuration, such as 'pin-clocks = \"max\"'");
  flash
      ->add_flag(
          "--allow-unsandboxed", command->allow_unsandboxed,
          "Does not ask whether candidates may run where the board's kernel cannot hold them")
      ->needs(ssh);
  of_ssh("--ssh-command", command->ssh_command, "With its options, such as ssh -p 2222")
      ->capture_default_str();
  of_ssh("--wait", command->wait_s, "Seconds until the board must have registered")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  flash
      ->add_option("--force", command->force,
                   "Checks to drop, by name: in-use, system-disk, fixed-disk, partition, "
                   "boot-signature")
      ->delimiter(',')
      ->transform(CLI::Validator(make_check, ""))
      ->needs(image);
  flash->add_flag("--yes", command->yes, "Does not ask before the disk is overwritten")
      ->needs(image);
  flash->add_flag("--json", command->json, "Prints a JSON object at the end");
  flash->callback([command, &status] { status = run(*command); });
}

}  // namespace fettle::app
