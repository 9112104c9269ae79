// Messages for people (message.h).
#include "host/app/message.h"

#include <atomic>
#include <cstdio>

namespace fettle::app {
namespace {

std::atomic<Screen*> current_screen{nullptr};

void say(const char* kind, const std::string& line) {
  if (Screen* screen = current_screen) screen->hide();
  const std::string text = fmt::format("fettle: {}{}\n", kind, line);
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

void print_text(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void set_screen(Screen* screen) { current_screen = screen; }

}  // namespace fettle::app
