// Any text as text of an HTML page, in attributes too.
#pragma once

#include <string>

namespace fettle::plot {

std::string html_text(const std::string& text);

}  // namespace fettle::plot
