# The core as a kernel of XRT (.xo), which Vitis' linker puts into an .xclbin for a platform:
#   vivado -mode batch -source fpga/vivado/kernel.tcl -tclargs PART IDENTITY [FOLDER]
#   v++ -l -t hw --platform PLATFORM --kernel_frequency MHZ -o fettle.xclbin FOLDER/fettle_vta.xo
# PART: of the design's die, as xczu7ev-ffvc1156-2-e. IDENTITY: the design's, 64 hexadecimal digits
# (build/bin/fettle-design zcu104); its first 16 end the kernel's name, by which an .xclbin says what
# it holds. FOLDER: where the project goes (default out/vivado-kernel). The core has the Pynq's sizes.
#
# UNTESTED: written without Vivado and Vitis at hand, for 2020.2 and newer.

if {[llength $argv] < 2 || ![regexp {^[0-9a-f]{64}$} [lindex $argv 1]]} {
  error "kernel.tcl takes a part and the design's identity, 64 hexadecimal digits"
}
set part [lindex $argv 0]
set identity [lindex $argv 1]
set folder [expr {[llength $argv] > 2 ? [lindex $argv 2] : "out/vivado-kernel"}]
set here [file dirname [file normalize [info script]]]
set rtl [file join $here .. rtl]
set name "fettle_vta_[string range $identity 0 15]"

# The core's first register of it holds the identity's first four bytes, the first lowest.
set value ""
foreach {high low} [split $identity ""] { set value "$high$low$value" }

create_project fettle_kernel $folder -part $part -force
foreach kind {core axi queues memory compute xrt} { add_files [glob [file join $rtl $kind *.sv]] }
# The kernel's name is its top module's.
set top [file join $folder $name.v]
set from [open [file join $here fettle_vta_kernel.v]]
set text [read $from]
close $from
set to [open $top w]
puts $to [string map [list \
  "module fettle_vta_kernel #(" "module $name #(" \
  "CONFIGURATION_HASH = 256'b0" "CONFIGURATION_HASH = 256'h$value"] $text]
close $to
add_files $top
set_property top $name [current_fileset]
update_compile_order -fileset sources_1

set ip [file join $folder ip]
ipx::package_project -root_dir $ip -vendor fettle -library kernel -taxonomy /KernelIP \
  -import_files -set_current true
set core [ipx::current_core]
foreach interface {s_axi_control m_axi} {
  ipx::associate_bus_interfaces -busif $interface -clock ap_clk $core
}
# Any clock that the platform has.
set_property value ANY [ipx::add_bus_parameter FREQ_TOLERANCE_HZ \
  [ipx::get_bus_interfaces ap_clk -of_objects $core]]
set_property sdx_kernel true $core
set_property sdx_kernel_type rtl $core
set_property xpm_libraries {} $core
set_property supported_families {} $core
set_property auto_family_support_level level_2 $core
ipx::create_xgui_files $core
ipx::update_checksums $core
ipx::save_core $core

# What XRT reads of it in the .xclbin: fpga/xrt/kernel.h has the same numbers.
set xml [file join $folder kernel.xml]
set to [open $xml w]
puts $to "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<root versionMajor=\"1\" versionMinor=\"6\">
  <kernel name=\"$name\" language=\"ip_c\" vlnv=\"fettle:kernel:$name:1.0\" attributes=\"\"
          preferredWorkGroupSizeMultiple=\"0\" workGroupSize=\"1\" interrupt=\"true\"
          hwControlProtocol=\"ap_ctrl_hs\">
    <ports>
      <port name=\"s_axi_control\" mode=\"slave\" range=\"0x1000\" dataWidth=\"32\"
            portType=\"addressable\" base=\"0x0\"/>
      <port name=\"m_axi\" mode=\"master\" range=\"0xFFFFFFFFFFFFFFFF\" dataWidth=\"64\"
            portType=\"addressable\" base=\"0x0\"/>
    </ports>
    <args>
      <arg name=\"instruction_count\" addressQualifier=\"0\" id=\"0\" port=\"s_axi_control\" size=\"0x4\"
           offset=\"0x010\" hostOffset=\"0x0\" hostSize=\"0x4\" type=\"uint\"/>
      <arg name=\"instruction_address\" addressQualifier=\"0\" id=\"1\" port=\"s_axi_control\" size=\"0x4\"
           offset=\"0x018\" hostOffset=\"0x0\" hostSize=\"0x4\" type=\"uint\"/>
      <arg name=\"memory\" addressQualifier=\"1\" id=\"2\" port=\"m_axi\" size=\"0x8\" offset=\"0x020\"
           hostOffset=\"0x0\" hostSize=\"0x8\" type=\"void*\"/>
    </args>
  </kernel>
</root>"
close $to
package_xo -force -xo_path [file join $folder fettle_vta.xo] -kernel_name $name \
  -ctrl_protocol ap_ctrl_hs -ip_directory $ip -kernel_xml $xml
puts "kernel: [file join $folder fettle_vta.xo], $name"
