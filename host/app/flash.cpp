// fettle flash: a board's image onto an SD card or stick.
#include <unistd.h>
#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "host/app/commands.h"
#include "host/app/interrupt.h"
#include "host/app/json_view.h"
#include "host/app/message.h"
#include "host/app/text.h"
#include "host/flash/disk.h"
#include "host/flash/write_image.h"

namespace fettle::app {
namespace {

struct FlashCommand {
  std::string image, to;
  bool force = false, json = false;
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
    fmt::print(stderr, "\r{} {} of {} MiB, {:.0f} MiB/s, {} left   {}", phase, done >> 20,
               total >> 20, rate / (1 << 20), duration_text(left), done == total ? "\n" : "");
  }

 private:
  const bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::string phase_;
  std::chrono::steady_clock::time_point started_, shown_;
};

int run(const FlashCommand& command) {
  const auto disk = flash::read_disk(command.to);
  if (!disk) return fail(disk.error());
  std::error_code failed;
  const auto bytes = std::filesystem::file_size(command.image, failed);
  if (failed) return fail(command.image + ": " + failed.message());
  if (auto fit = flash::check_disk(*disk, bytes, command.force); !fit) return fail(fit.error());
  Interrupt interrupt;
  ProgressLine line;
  const auto written =
      flash::write_image(command.image, command.to, !command.force,
                         [&](const char* phase, std::uint64_t done, std::uint64_t total) {
                           line.show(phase, done, total);
                           return !interrupt.requested();
                         });
  if (!written) {
    fail(written.error());
    return written.error().code == ErrorCode::Canceled ? kInterrupted : kFailed;
  }
  if (command.json) {
    print_json_line({{"image", command.image}, {"disk", command.to}, {"bytes", bytes}});
  } else {
    fmt::print("{} holds {}: {} bytes written and read back\n", command.to, command.image, bytes);
  }
  return kFine;
}

}  // namespace

void add_flash_command(CLI::App& app, int& status) {
  auto* flash = app.add_subcommand("flash", "Writes a board's image onto a card, and checks it");
  auto command = std::make_shared<FlashCommand>();
  flash->add_option("--image", command->image, "The image file, not compressed")->required();
  flash->add_option("--to", command->to, "The disk, such as /dev/sdb; all of it is overwritten")
      ->required();
  flash->add_flag("--force", command->force,
                  "Also where the disk is in use, fixed, or only a partition");
  flash->add_flag("--json", command->json, "Prints a JSON object at the end");
  flash->callback([command, &status] { status = run(*command); });
}

}  // namespace fettle::app
