// A plain-text table for terminals: columns as wide as their widest cell, counted
// in character cells and not in bytes.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace fettle::records {

enum class Align { Left, Right };

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::Left;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // Missing cells are empty; there may not be more cells than columns.
  void row(std::vector<std::string> cells);
  // A line under all rows so far, before a total.
  void rule();
  // One line per row, two spaces between columns, no spaces at line ends; clipped to `cells`.
  void print(std::ostream& out, std::size_t cells = kAll) const;
  static constexpr std::size_t kAll = static_cast<std::size_t>(-1);

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // an empty row is a rule
};

// Terminal cells that UTF-8 text takes: wide East Asian characters two, combining
// marks none. Bytes that are no UTF-8 count one each.
std::size_t cells_of(std::string_view text);
// At most `cells` wide; "…" at the end where something was cut off.
std::string clip(std::string_view text, std::size_t cells);

}  // namespace fettle::records
