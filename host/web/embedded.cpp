// The embedded files (embedded.h); their paths come from CMakeLists.txt.
#include "host/web/embedded.h"

#include "host/plot/embed.h"

FETTLE_EMBED(fettle_live_page, FETTLE_LIVE_PAGE)
FETTLE_EMBED(fettle_live_script, FETTLE_LIVE_SCRIPT)
FETTLE_EMBED(fettle_live_style, FETTLE_LIVE_STYLE)

namespace fettle::web {

std::string_view live_page() { return {fettle_live_page_begin, fettle_live_page_end}; }
std::string_view live_script() { return {fettle_live_script_begin, fettle_live_script_end}; }
std::string_view live_style() { return {fettle_live_style_begin, fettle_live_style_end}; }

}  // namespace fettle::web
