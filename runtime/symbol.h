// A vendor's function by its name, out of a library that was loaded.
#pragma once

#include <dlfcn.h>

namespace fettle::runtime {

// False, and `call` null: the library has none of that name.
template <typename Call>
bool find_symbol(void* library, const char* name, Call& call) {
  call = reinterpret_cast<Call>(dlsym(library, name));
  return call != nullptr;
}

}  // namespace fettle::runtime
