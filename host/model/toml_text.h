// A look at TOML before the library reads it.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace fettle::model {

// Where the first character beyond ASCII begins that stands neither in a text nor in a comment, or
// behind a backslash in a text; in bytes. Quotes directly behind a word, a number or a text begin
// none. TOML has none there, and toml++ 3.3 asks each of these
// whether it is whitespace, which is undefined for some (is_non_ascii_horizontal_whitespace()).
// Nothing: there is none.
std::optional<std::size_t> misplaced_character(std::string_view toml);

}  // namespace fettle::model
