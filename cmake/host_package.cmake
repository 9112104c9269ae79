# The host's Debian package: the command line, the agents that are built, their packages, and
# the scripts that put them into boards' images. `./dev packages host` makes it from the dev
# preset's build, which is the one that the tests have seen, with its symbols stripped.
# Target profiles, networks and priors are inside of the program.
set(images ${PROJECT_SOURCE_DIR}/board_images)
install(TARGETS fettle RUNTIME DESTINATION bin)
foreach(arch x86_64 aarch64 armv7)
  install(PROGRAMS ${PROJECT_SOURCE_DIR}/build/agents/${arch}/fettle-agent
    DESTINATION lib/fettle/agents/${arch} OPTIONAL)
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/build/packages DESTINATION share/fettle OPTIONAL
  FILES_MATCHING PATTERN "fettle-agent_${PROJECT_VERSION}_*.deb")
install(PROGRAMS ${images}/add_agent.sh DESTINATION share/fettle/board_images)
install(FILES ${images}/write_image.sh ${images}/write_folder.sh ${images}/linux_partition.sh
  DESTINATION share/fettle/board_images)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/doc/fettle RENAME copyright)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME fettle)
set(CPACK_PACKAGE_CONTACT "The fettle project <fettle@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "tunes neural-network kernels on the devices that run them")
set(CPACK_PACKAGE_DESCRIPTION "The host of the fettle kernel tuner: generates candidate kernels, compiles
them with LLVM, has them measured by the agents of boards, or of this machine,
learns from the times, and keeps every trial in a database. With the agents for
x86-64, AArch64 and ARMv7 and their packages.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "e2fsprogs, openssh-client")  # add_agent.sh, flash --ssh
set(CPACK_STRIP_FILES ON)
include(CPack)
