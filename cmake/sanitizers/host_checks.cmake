# For folders of what runs on no board. To look at every access for null, alignment and size takes a
# quarter of the compiling: it is done where boards read what others sent (schemas, agent, runtime,
# fpga). Here AddressSanitizer sees the bad accesses themselves, and clang's fuzz targets see all.
if(FETTLE_SANITIZER STREQUAL "address" AND NOT FETTLE_FUZZ)
  add_compile_options(-fno-sanitize=null,alignment,object-size)
endif()
