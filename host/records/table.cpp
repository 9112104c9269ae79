// Widths of UTF-8 texts, and tables made with them.
#include "host/records/table.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <ostream>

#include "schemas/wire/printable.h"

namespace fettle::records {
namespace {

struct Character {
  std::uint32_t code;
  std::size_t bytes;
};

// The character at the front; a byte that starts none is one of its own.
Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t bytes = lead < 0x80    ? 1
                            : lead >= 0xf0 ? 4
                            : lead >= 0xe0 ? 3
                            : lead >= 0xc2 ? 2
                                           : 0;
  if (bytes == 1) return {lead, 1};
  if (bytes == 0 || lead > 0xf4 || text.size() < bytes) return {0xfffd, 1};
  std::uint32_t code = lead & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return {0xfffd, 1};
    code = code << 6 | (next & 0x3fu);
  }
  return {code, bytes};
}

std::size_t cells_of(std::uint32_t code) {
  const auto in = [code](std::uint32_t low, std::uint32_t high) {
    return code >= low && code <= high;
  };
  if (code < 0x20 || in(0x7f, 0x9f) || in(0x300, 0x36f) || in(0x200b, 0x200f) || in(0xfe00, 0xfe0f))
    return 0;
  if (in(0x1100, 0x115f) || in(0x2e80, 0xa4cf) || in(0xac00, 0xd7a3) || in(0xf900, 0xfaff) ||
      in(0xfe30, 0xfe6f) || in(0xff00, 0xff60) || in(0xffe0, 0xffe6) || in(0x1f300, 0x1faff) ||
      in(0x20000, 0x3fffd))
    return 2;
  return 1;
}

}  // namespace

std::size_t cells_of(std::string_view text) {
  std::size_t cells = 0;
  while (!text.empty()) {
    const Character c = first_character(text);
    cells += cells_of(c.code);
    text.remove_prefix(c.bytes);
  }
  return cells;
}

std::string clip(std::string_view text, std::size_t cells) {
  if (cells_of(text) <= cells) return std::string(text);
  std::string kept;
  std::size_t used = 1;  // of the ellipsis
  while (!text.empty()) {
    const Character c = first_character(text);
    used += cells_of(c.code);
    if (used > cells) break;
    kept += text.substr(0, c.bytes);
    text.remove_prefix(c.bytes);
  }
  return cells == 0 ? std::string() : kept + "…";
}

void Table::row(std::vector<std::string> cells) {
  assert(cells.size() <= columns_.size());
  cells.resize(columns_.size());
  for (std::string& cell : cells) {
    cell = printable(cell);  // a device's name, a message: whatever somebody sent
    std::replace(cell.begin(), cell.end(), '\n', ' ');
  }
  rows_.push_back(std::move(cells));
}

void Table::rule() { rows_.emplace_back(); }

void Table::print(std::ostream& out, std::size_t cells) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(cells_of(column.title));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], cells_of(row[i]));
  }
  const auto print_row = [&](const auto& cell) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string& text = cell(i);
      const std::string gap(widths[i] - cells_of(text), ' ');
      if (i > 0) line += "  ";
      line += columns_[i].align == Align::Left ? text + gap : gap + text;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << clip(line, cells) << '\n';
  };
  print_row([&](std::size_t i) -> const std::string& { return columns_[i].title; });
  std::size_t total = 2 * (columns_.empty() ? 0 : columns_.size() - 1);
  for (const std::size_t width : widths) total += width;
  const std::string rule(std::min(total, cells), '-');
  out << rule << '\n';
  for (const auto& row : rows_) {
    if (row.empty())
      out << rule << '\n';
    else
      print_row([&](std::size_t i) -> const std::string& { return row[i]; });
  }
}

}  // namespace fettle::records
