// What the program says: results on stdout; to people, one clear line on stderr.
#pragma once

#include <string>

#include <fmt/format.h>

#include "schemas/wire/result.h"

namespace fettle::app {

// Exit statuses of every command.
inline constexpr int kFine = 0, kFailed = 1, kUsage = 2, kInterrupted = 130;

void note(const std::string& line);  // "fettle: …"
void warn(const std::string& line);  // "fettle: warning: …"
int fail(const Error& error);        // "fettle: error: …"; returns kFailed
int fail(const std::string& line);

// Asks on stderr and reads one line of standard input; true for "yes" alone.
bool ask_for_yes(const std::string& question);

// Standard output. An output that cannot be written ends no work: the output stays marked as
// failed (ferror), and main() tells of it at the end. What came from outside may stand in it, as in
// the lines above: a terminal obeys none of it (schemas/wire/printable.h).
void print_text(const std::string& text);
void print_control(const std::string& text);  // as it is: what moves the cursor
template <typename... Values>
void print(fmt::format_string<Values...> pattern, Values&&... values) {
  print_text(fmt::format(pattern, std::forward<Values>(values)...));
}

// On standard error, as a report of what went to standard output.
void print_beside(const std::string& text);

// A progress view that owns the bottom of the terminal registers here, so that
// messages do not land inside it. One at a time; null: none.
class Screen {
 public:
  virtual ~Screen() = default;
  virtual void hide() = 0;  // from any thread
};
void set_screen(Screen* screen);

}  // namespace fettle::app
