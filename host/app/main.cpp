// fettle.
#include "host/app/program.h"

int main(int argc, char** argv) { return fettle::app::run_program(argc, argv); }
