// Messages for people (message.h).
#include "host/app/message.h"

#include <cstdio>
#include <mutex>
#include <string_view>

#include "schemas/wire/printable.h"

namespace fettle::app {
namespace {

std::mutex screen_mutex;  // messages come from several threads
Screen* current_screen = nullptr;

void say(const char* kind, const std::string& line) {
  std::lock_guard lock(screen_mutex);
  if (current_screen) current_screen->hide();
  // What cannot be told (a full disk behind stderr) is no reason to end: this does not throw.
  const std::string text = fmt::format("fettle: {}{}\n", kind, printable(line));
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

void note(const std::string& line) { say("", line); }
void warn(const std::string& line) { say("warning: ", line); }

int fail(const std::string& line) {
  say("error: ", line);
  return kFailed;
}

int fail(const Error& error) { return fail(error.text()); }

bool ask_for_yes(const std::string& question) {
  const std::string text = printable(question) + " Type yes: ";
  std::fwrite(text.data(), 1, text.size(), stderr);
  char line[16] = {};
  return std::fgets(line, sizeof line, stdin) != nullptr && std::string_view(line) == "yes\n";
}

void print_text(const std::string& text) { print_control(printable(text)); }

void print_beside(const std::string& text) {
  const std::string shown = printable(text);
  std::fwrite(shown.data(), 1, shown.size(), stderr);
}

void print_control(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void set_screen(Screen* screen) {
  std::lock_guard lock(screen_mutex);
  current_screen = screen;
}

}  // namespace fettle::app
