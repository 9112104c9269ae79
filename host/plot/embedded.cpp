// The embedded files (embedded.h): the assembler copies them in. Their paths come
// from CMakeLists.txt.
#include "host/plot/embedded.h"

#include "host/plot/embed.h"

FETTLE_EMBED(fettle_chart_library, FETTLE_CHART_LIBRARY)
FETTLE_EMBED(fettle_page_script, FETTLE_PAGE_SCRIPT)
FETTLE_EMBED(fettle_page_style, FETTLE_PAGE_STYLE)

namespace fettle::plot {

std::string_view chart_library() { return {fettle_chart_library_begin, fettle_chart_library_end}; }
std::string_view page_script() { return {fettle_page_script_begin, fettle_page_script_end}; }
std::string_view page_style() { return {fettle_page_style_begin, fettle_page_style_end}; }

}  // namespace fettle::plot
