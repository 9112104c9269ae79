// Files that are part of the program: what a plot needs besides its data.
#pragma once

#include <string_view>

namespace fettle::plot {

std::string_view chart_library();  // Chart.js, minified, with its licence's notice
std::string_view page_script();    // page.js
std::string_view page_style();     // page.css

}  // namespace fettle::plot
