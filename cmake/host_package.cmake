# The host's Debian package, from a build of the host and of all three agents
# (`./dev packages host`). The program finds the agents and their packages beside its own
# bin/, as in a build folder.
set(home lib/fettle)
set(images ${PROJECT_SOURCE_DIR}/board_images)
install(TARGETS fettle RUNTIME DESTINATION ${home}/bin)
install(PROGRAMS ${images}/add_agent.sh DESTINATION ${home}/board_images)
install(FILES ${images}/write_image.sh ${images}/write_folder.sh ${images}/linux_partition.sh ${images}/board_key.sh
  DESTINATION ${home}/board_images)
# The broker as a service, which nobody starts but the machine's owner (docs/fleet.md).
install(FILES ${images}/package/fettle-broker.service DESTINATION /lib/systemd/system)
install(FILES ${images}/package/fettle-broker.sysusers DESTINATION lib/sysusers.d RENAME fettle-broker.conf)
install(FILES LICENSE DESTINATION share/doc/fettle RENAME copyright)
install(FILES README.md CHANGELOG.md DESTINATION share/doc/fettle)
install(CODE "file(MAKE_DIRECTORY \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin)
  file(CREATE_LINK ../${home}/bin/fettle \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin/fettle SYMBOLIC)")
# Bash looks for a program's completion by its name.
install(CODE "set(completions \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/bash-completion/completions)
  file(MAKE_DIRECTORY \${completions})
  execute_process(COMMAND $<TARGET_FILE:fettle> completion bash OUTPUT_FILE \${completions}/fettle
    COMMAND_ERROR_IS_FATAL ANY)")

# libfettle, for programs of one's own: $(pkg-config --cflags --libs fettle). It finds the agents
# from where it lies.
install(TARGETS fettle_library LIBRARY DESTINATION ${home}/lib)
install(DIRECTORY host/libfettle/fettle DESTINATION include FILES_MATCHING PATTERN "*.h")
install(DIRECTORY examples/library DESTINATION share/doc/fettle/examples)
foreach(name libfettle.so libfettle.so.${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  install(CODE "file(CREATE_LINK fettle/lib/${name} \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/${name} SYMBOLIC)")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/fettle.pc @ONLY CONTENT [[
prefix=/usr
Name: fettle
Description: kernels tuned on the boards where neural networks run
Version: @PROJECT_VERSION@
Cflags: -I${prefix}/include
Libs: -L${prefix}/lib -lfettle
]])
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/fettle.pc DESTINATION lib/pkgconfig)

# The agents, to run here and under qemu-user, and their packages, for boards; what runs networks there.
foreach(arch x86_64 aarch64 armv7)
  set(agent ${PROJECT_SOURCE_DIR}/build/agents/${arch})
  install(CODE "foreach(file fettle-agent fettle-run runtime/c_api/libfettle_rt.a)
    if(NOT EXISTS ${agent}/\${file})
      message(FATAL_ERROR \"no \${file} for ${arch}: ./dev agents ${arch}\")
    endif()
  endforeach()")
  install(PROGRAMS ${agent}/fettle-agent ${agent}/fettle-run DESTINATION ${home}/agents/${arch})
  install(FILES ${agent}/runtime/c_api/libfettle_rt.a DESTINATION ${home}/agents/${arch})
  install(CODE "set(packages \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${home}/packages)
  execute_process(COMMAND ${CMAKE_CPACK_COMMAND} --config ${agent}/CPackConfig.cmake -B \${packages}
    WORKING_DIRECTORY ${agent} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE_RECURSE \${packages}/_CPack_Packages)")
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME fettle)
set(CPACK_PACKAGE_CONTACT "The fettle project <fettle@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "tunes neural-network kernels on the boards where they run")
set(CPACK_PACKAGE_DESCRIPTION "The host's part of the fettle kernel tuner: writes candidate kernels,
compiles them for the board, sends them to agents there, and learns from what
they measure. Brings the agents for amd64, arm64 and armhf, as programs and as
packages for the boards.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "openssh-client, e2fsprogs")  # flash --ssh; add_agent.sh
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_STRIP_FILES ON)
include(CPack)
