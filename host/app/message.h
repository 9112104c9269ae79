// What the program says to people: one clear line on stderr.
#pragma once

#include <string>

#include "schemas/wire/result.h"

namespace fettle::app {

// Exit statuses of every command.
inline constexpr int kFine = 0, kFailed = 1, kUsage = 2, kInterrupted = 130;

void note(const std::string& line);  // "fettle: …"
void warn(const std::string& line);  // "fettle: warning: …"
int fail(const Error& error);        // "fettle: error: …"; returns kFailed
int fail(const std::string& line);

// A progress view that owns the bottom of the terminal registers here, so that
// messages do not land inside it. One at a time; null: none.
class Screen {
 public:
  virtual ~Screen() = default;
  virtual void hide() = 0;
};
void set_screen(Screen* screen);

}  // namespace fettle::app
