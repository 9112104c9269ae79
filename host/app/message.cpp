// Messages for people (message.h).
#include "host/app/message.h"

#include <atomic>

#include <fmt/format.h>

namespace fettle::app {
namespace {

std::atomic<Screen*> current_screen{nullptr};

void say(const char* kind, const std::string& line) {
  if (Screen* screen = current_screen) screen->hide();
  fmt::print(stderr, "fettle: {}{}\n", kind, line);
}

}  // namespace

void note(const std::string& line) { say("", line); }
void warn(const std::string& line) { say("warning: ", line); }

int fail(const std::string& line) {
  say("error: ", line);
  return kFailed;
}

int fail(const Error& error) { return fail(error.text()); }

void set_screen(Screen* screen) { current_screen = screen; }

}  // namespace fettle::app
