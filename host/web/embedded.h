// The live page's own files, which are part of the program.
#pragma once

#include <string_view>

namespace fettle::web {

std::string_view live_page();    // live.html
std::string_view live_script();  // live.js
std::string_view live_style();   // live.css

}  // namespace fettle::web
