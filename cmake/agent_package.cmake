# The agent's Debian package, from an agent preset's build:  cpack --config
# build/agents/ARCH/CPackConfig.cmake  (`./dev packages` does it for all of them).
# The program is static, so that the package fits every release of Debian and Ubuntu.
set(package ${PROJECT_SOURCE_DIR}/board_images/package)
install(TARGETS fettle-agent RUNTIME DESTINATION bin)
if(TARGET fettle-run)
  install(TARGETS fettle-run RUNTIME DESTINATION bin)
endif()
install(FILES ${package}/fettle-agent.service ${package}/fettle-fpga.service ${package}/fettle-fpga.socket
  DESTINATION /lib/systemd/system)
install(FILES ${package}/agent.toml DESTINATION /etc/fettle)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION share/doc/fettle-agent RENAME copyright)

set(debian_arch_x86_64 amd64)
set(debian_arch_aarch64 arm64)
set(debian_arch_armv7 armhf)
file(WRITE ${PROJECT_BINARY_DIR}/package/conffiles "/etc/fettle/agent.toml\n")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME fettle-agent)
set(CPACK_PACKAGE_CONTACT "The fettle project <fettle@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "measures neural-network kernels on this board for fettle")
set(CPACK_PACKAGE_DESCRIPTION "The agent of the fettle kernel tuner: takes candidate kernels from a
broker over an encrypted connection, checks their answers, times them and sends
back what it measured. One static program, run as a service.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${debian_arch_${FETTLE_AGENT_ARCH}})
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "adduser, init-system-helpers (>= 1.51)")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/package/conffiles
  ${package}/postinst ${package}/prerm ${package}/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)  # Ubuntu 18.04's dpkg knows no zstd
set(CPACK_STRIP_FILES OFF)             # stripped when linked
include(CPack)
