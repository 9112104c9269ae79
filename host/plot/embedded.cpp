// The embedded files (embedded.h): the assembler copies them in. Their paths come
// from CMakeLists.txt.
#include "host/plot/embedded.h"

#define FETTLE_EMBED(name, path)                                             \
  asm(".pushsection .rodata\n" #name "_begin:\n.incbin \"" path "\"\n" #name \
      "_end:\n.byte 0\n.popsection\n");                                      \
  extern "C" const char name##_begin[], name##_end[];

FETTLE_EMBED(fettle_chart_library, FETTLE_CHART_LIBRARY)
FETTLE_EMBED(fettle_page_script, FETTLE_PAGE_SCRIPT)
FETTLE_EMBED(fettle_page_style, FETTLE_PAGE_STYLE)

namespace fettle::plot {

std::string_view chart_library() { return {fettle_chart_library_begin, fettle_chart_library_end}; }
std::string_view page_script() { return {fettle_page_script_begin, fettle_page_script_end}; }
std::string_view page_style() { return {fettle_page_style_begin, fettle_page_style_end}; }

}  // namespace fettle::plot
