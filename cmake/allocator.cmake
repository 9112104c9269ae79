# A quicker malloc for the host's programs: lowering, LLVM and XGBoost make many small things
# (`fettle-bench candidates` with and without it). Not for libfettle, which is a guest in
# somebody's program, nor beside a sanitizer, which has a malloc of its own.
add_library(fettle_allocator INTERFACE)
if(NOT FETTLE_SANITIZER)
  find_package(mimalloc 2.0 REQUIRED)
  target_link_libraries(fettle_allocator INTERFACE mimalloc)
  # Nothing names it, so a linker that drops what is not needed would drop it.
  target_link_options(fettle_allocator INTERFACE LINKER:--no-as-needed)
endif()
