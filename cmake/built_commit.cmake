# Writes ${TARGET}, which says of which commit a build is: run at each build, it changes the file
# only where that changed. SOURCE: the work tree.
set(commit "not in a git work tree")
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD
  OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
if(NOT failed)
  set(commit ${head})
  execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no
    OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
    set(commit "${head}, with changes")
  endif()
endif()
file(CONFIGURE OUTPUT ${TARGET} CONTENT [[// Written by cmake/built_commit.cmake.
#include "tests/bench/kernels/built_commit.h"

namespace fettle::bench {

const char* built_commit() { return "@commit@"; }

}  // namespace fettle::bench
]] @ONLY)
