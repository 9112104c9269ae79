// Where TOML's texts and comments begin and end: https://toml.io/en/v1.0.0
#include "host/model/toml_text.h"

#include <string>

namespace fettle::model {
namespace {

bool beyond_ascii(char c) { return static_cast<unsigned char>(c) >= 0x80; }
bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// What begins at `toml`: a text or a comment. Empty: neither.
std::string_view mark_of(std::string_view toml) {
  for (const std::string_view mark : {"\"\"\"", "'''", "\"", "'", "#"}) {
    if (toml.starts_with(mark)) return mark;
  }
  return {};
}

// Of a text or comment behind its mark: how many bytes it has with its end.
struct Inside {
  std::size_t bytes = 0;
  std::optional<std::size_t> misplaced;  // where in it
};

Inside comment(std::string_view toml) { return {toml.substr(0, toml.find('\n')).size(), {}}; }

Inside text(std::string_view toml, std::string_view mark) {
  const bool basic = mark.front() == '"', of_lines = mark.size() == 3;
  bool escaped = false;  // by a backslash; of lines: blanks may be in between
  for (std::size_t at = 0; at < toml.size(); ++at) {
    const char c = toml[at];
    if (c == '\n' && !of_lines) return {at, {}};  // it has no end
    if (escaped && beyond_ascii(c)) return {at, at};
    if (!escaped && toml.substr(at).starts_with(mark)) {
      at += mark.size();
      // Two quotes more belong to it.
      for (int i = 0; of_lines && i < 2 && at < toml.size() && toml[at] == mark.front(); ++i) ++at;
      return {at, {}};
    }
    escaped = basic && (escaped ? of_lines && blank(c) : c == '\\');
  }
  return {toml.size(), {}};
}

// Where keys and values stand, so far: toml++ looks at all of a value that begins with neither
// quotes nor a bracket up to what ends it, quotes and what is behind them too.
class Place {
 public:
  // A text may begin here.
  bool begins() const { return !token_; }
  void pass(char c) {
    if (c == '\n' && open_.empty()) value_ = false;
    const bool opens = !token_ && (c == '[' || c == '{');
    if (blank(c) || c == ',' || c == ']' || c == '}') {
      token_ = false;
    } else if (!value_) {
      token_ = c != '=' && c != '.' && c != '[';
      value_ = c == '=';
    } else if (!opens) {
      token_ = true;
    }
    if (opens && value_) open_.push_back(c);
    if ((c == ']' || c == '}') && !open_.empty()) open_.pop_back();
    if (opens || c == ',' || c == ']' || c == '}') {
      // What is next in a table is a key; anything else in brackets is a value.
      if (!open_.empty()) value_ = open_.back() == '[' || c == ']' || c == '}';
    }
  }
  void pass_text() { token_ = true; }

 private:
  bool value_ = false;  // behind a key's =, or in an array
  bool token_ = false;  // in or directly behind a word, number or text
  std::string open_;    // brackets around it, of values
};

}  // namespace

std::optional<std::size_t> misplaced_character(std::string_view toml) {
  Place place;
  std::size_t at = toml.starts_with("\xEF\xBB\xBF") ? 3 : 0;  // a byte order mark
  while (at < toml.size() && !beyond_ascii(toml[at])) {
    const std::string_view mark = mark_of(toml.substr(at));
    if (mark.empty() || (mark != "#" && !place.begins())) {
      place.pass(toml[at++]);
      continue;
    }
    at += mark.size();
    const Inside inside = mark == "#" ? comment(toml.substr(at)) : text(toml.substr(at), mark);
    if (inside.misplaced) return at + *inside.misplaced;
    at += inside.bytes;
    if (mark != "#") place.pass_text();
  }
  if (at >= toml.size()) return std::nullopt;
  return at;
}

}  // namespace fettle::model
