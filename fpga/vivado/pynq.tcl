# The bitstream of the design `pynq` for PYNQ-Z1 and Z2 (one part, one bitstream).
#   vivado -mode batch -source fpga/vivado/pynq.tcl -tclargs IDENTITY [FOLDER]
# IDENTITY: the design's, 64 hexadecimal digits (build/bin/fettle-design pynq). FOLDER: where the
# project goes (default out/vivado). Leaves fettle_pynq.bit there, and reports of timing and use.
#
# UNTESTED: written without a Vivado at hand, for 2020.1 and newer.

if {[llength $argv] < 1 || ![regexp {^[0-9a-f]{64}$} [lindex $argv 0]]} {
  error "pynq.tcl takes the design's identity, 64 hexadecimal digits"
}
set identity [lindex $argv 0]
set folder [expr {[llength $argv] > 1 ? [lindex $argv 1] : "out/vivado"}]
set here [file dirname [file normalize [info script]]]
set rtl [file join $here .. rtl]

# The core's first register holds the identity's first four bytes, the first lowest.
set value ""
foreach {high low} [split $identity ""] { set value "$high$low$value" }

create_project fettle_pynq $folder -part xc7z020clg400-1 -force
foreach kind {core axi queues memory compute} { add_files [glob [file join $rtl $kind *.sv]] }
add_files [file join $here fettle_vta_board.v]
update_compile_order -fileset sources_1

create_bd_design system
# What the board's boot loader has set up (DDR, pins) stays as it is: a bitstream that is loaded
# under Linux brings the ports' clocks and widths only.
set ps [create_bd_cell -type ip -vlnv xilinx.com:ip:processing_system7 ps]
set_property -dict [list \
  CONFIG.PCW_CRYSTAL_PERIPHERAL_FREQMHZ {50} \
  CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ {100} \
  CONFIG.PCW_EN_CLK0_PORT {1} CONFIG.PCW_EN_RST0_PORT {1} \
  CONFIG.PCW_USE_M_AXI_GP0 {1} \
  CONFIG.PCW_USE_S_AXI_ACP {1} CONFIG.PCW_USE_DEFAULT_ACP_USER_VAL {1} \
  CONFIG.PCW_USE_FABRIC_INTERRUPT {1} CONFIG.PCW_IRQ_F2P_INTR {1}] $ps
make_bd_intf_pins_external [get_bd_intf_pins ps/DDR] -name DDR
make_bd_intf_pins_external [get_bd_intf_pins ps/FIXED_IO] -name FIXED_IO

set core [create_bd_cell -type module -reference fettle_vta_board core]
set_property CONFIG.CONFIGURATION_HASH "256'h$value" $core

set reset [create_bd_cell -type ip -vlnv xilinx.com:ip:proc_sys_reset reset]
set control [create_bd_cell -type ip -vlnv xilinx.com:ip:smartconnect control]
set_property -dict {CONFIG.NUM_SI 1 CONFIG.NUM_MI 1} $control
set memory [create_bd_cell -type ip -vlnv xilinx.com:ip:smartconnect memory]
set_property -dict {CONFIG.NUM_SI 1 CONFIG.NUM_MI 1} $memory

connect_bd_net [get_bd_pins ps/FCLK_CLK0] [get_bd_pins {ps/M_AXI_GP0_ACLK ps/S_AXI_ACP_ACLK
  reset/slowest_sync_clk control/aclk memory/aclk core/clk}]
connect_bd_net [get_bd_pins ps/FCLK_RESET0_N] [get_bd_pins reset/ext_reset_in]
connect_bd_net [get_bd_pins reset/peripheral_aresetn] [get_bd_pins {control/aresetn memory/aresetn
  core/resetn}]
connect_bd_net [get_bd_pins core/irq] [get_bd_pins ps/IRQ_F2P]
connect_bd_intf_net [get_bd_intf_pins ps/M_AXI_GP0] [get_bd_intf_pins control/S00_AXI]
connect_bd_intf_net [get_bd_intf_pins control/M00_AXI] [get_bd_intf_pins core/s_axi]
connect_bd_intf_net [get_bd_intf_pins core/m_axi] [get_bd_intf_pins memory/S00_AXI]
connect_bd_intf_net [get_bd_intf_pins memory/M00_AXI] [get_bd_intf_pins ps/S_AXI_ACP]

# The register map's base (fpga/config/register_map.cpp); all of the DRAM through the ACP.
assign_bd_address -offset 0x43C00000 -range 4K [get_bd_addr_segs core/s_axi/reg0]
assign_bd_address [get_bd_addr_segs ps/S_AXI_ACP/ACP_DDR_LOWOCM]
exclude_bd_addr_seg -quiet [get_bd_addr_segs ps/S_AXI_ACP/ACP_IOP]
exclude_bd_addr_seg -quiet [get_bd_addr_segs ps/S_AXI_ACP/ACP_M_AXI_GP0]
exclude_bd_addr_seg -quiet [get_bd_addr_segs ps/S_AXI_ACP/ACP_QSPI_LINEAR]

validate_bd_design
save_bd_design
make_wrapper -files [get_files system.bd] -top -import
set_property top system_wrapper [current_fileset]

launch_runs impl_1 -jobs 2
wait_on_run impl_1
if {[get_property PROGRESS [get_runs impl_1]] ne "100%"} { error "implementation failed" }
open_run impl_1
report_utilization -file [file join $folder utilization.txt]
report_timing_summary -file [file join $folder timing.txt]
set slack [get_property SLACK [get_timing_paths]]
if {$slack < 0} { error "timing is not met: the worst slack is $slack ns" }
# What tells the design from outside (fpga/config/design.h, user_access_of()).
set_property BITSTREAM.CONFIG.USR_ACCESS "0x[string range $identity 0 7]" [current_design]
write_bitstream -force [file join $folder fettle_pynq.bit]
puts "bitstream: [file join $folder fettle_pynq.bit], worst slack $slack ns"
