// Text from outside, made fit for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace fettle {

// The same text without what a terminal would obey: control characters (ESC, C1, DEL) and marks
// that turn the order of what is read become "\u001b" and the like, bytes that are no UTF-8 become
// U+FFFD. Line ends and tabs stay. JSON stays the JSON that it was.
std::string printable(std::string_view text);

}  // namespace fettle
