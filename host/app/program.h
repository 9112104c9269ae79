// The whole command line: for `fettle`, and for programs that bring a back end of their own.
#pragma once

namespace fettle::app {

// What main() does; its exit status. Back ends are added before (host/backend/backend.h); build
// workers are this same program.
int run_program(int argc, char** argv);

}  // namespace fettle::app
