// fettle with the stack machine's back end.
#include "host/app/program.h"
#include "host/backend/backend.h"
#include "tests/extension/stack_backend.h"

int main(int argc, char** argv) {
  fettle::backend::add_backend(fettle::extension::stack_backend());
  return fettle::app::run_program(argc, argv);
}
