// The core as a kernel of XRT (kernel.tcl): ports as Vitis' linker wants them, in plain Verilog. What
// the core says are the lower halves of addresses; the upper one is that of the buffer that the host
// names (fpga/rtl/xrt/xrt_control.sv).
module fettle_vta_kernel #(
  parameter [255:0] CONFIGURATION_HASH = 256'b0
) (
  input  wire        ap_clk,
  input  wire        ap_rst_n,
  output wire        interrupt,
  input  wire        s_axi_control_awvalid,
  output wire        s_axi_control_awready,
  input  wire [11:0] s_axi_control_awaddr,
  input  wire        s_axi_control_wvalid,
  output wire        s_axi_control_wready,
  input  wire [31:0] s_axi_control_wdata,
  input  wire [3:0]  s_axi_control_wstrb,
  output wire        s_axi_control_bvalid,
  input  wire        s_axi_control_bready,
  output wire [1:0]  s_axi_control_bresp,
  input  wire        s_axi_control_arvalid,
  output wire        s_axi_control_arready,
  input  wire [11:0] s_axi_control_araddr,
  output wire        s_axi_control_rvalid,
  input  wire        s_axi_control_rready,
  output wire [31:0] s_axi_control_rdata,
  output wire [1:0]  s_axi_control_rresp,
  output wire        m_axi_arvalid,
  input  wire        m_axi_arready,
  output wire [63:0] m_axi_araddr,
  output wire [1:0]  m_axi_arid,
  output wire [7:0]  m_axi_arlen,
  output wire [2:0]  m_axi_arsize,
  output wire [1:0]  m_axi_arburst,
  output wire [3:0]  m_axi_arcache,
  output wire [2:0]  m_axi_arprot,
  output wire        m_axi_arlock,
  output wire [3:0]  m_axi_arqos,
  input  wire        m_axi_rvalid,
  output wire        m_axi_rready,
  input  wire [1:0]  m_axi_rid,
  input  wire [63:0] m_axi_rdata,
  input  wire [1:0]  m_axi_rresp,
  input  wire        m_axi_rlast,
  output wire        m_axi_awvalid,
  input  wire        m_axi_awready,
  output wire [63:0] m_axi_awaddr,
  output wire [1:0]  m_axi_awid,
  output wire [7:0]  m_axi_awlen,
  output wire [2:0]  m_axi_awsize,
  output wire [1:0]  m_axi_awburst,
  output wire [3:0]  m_axi_awcache,
  output wire [2:0]  m_axi_awprot,
  output wire        m_axi_awlock,
  output wire [3:0]  m_axi_awqos,
  output wire        m_axi_wvalid,
  input  wire        m_axi_wready,
  output wire [63:0] m_axi_wdata,
  output wire [7:0]  m_axi_wstrb,
  output wire        m_axi_wlast,
  input  wire        m_axi_bvalid,
  output wire        m_axi_bready,
  input  wire [1:0]  m_axi_bid,
  input  wire [1:0]  m_axi_bresp
);
  wire        awvalid, awready, wvalid, wready, bvalid, bready, arvalid, arready, rvalid, rready;
  wire [11:0] awaddr, araddr;
  wire [31:0] wdata, rdata, memory_high;
  wire [3:0]  wstrb;
  wire [1:0]  bresp, rresp;
  wire        core_interrupt;

  xrt_control control (
    .clk(ap_clk), .reset(!ap_rst_n), .irq(interrupt), .memory_high(memory_high),
    .s_awvalid(s_axi_control_awvalid), .s_awready(s_axi_control_awready),
    .s_awaddr(s_axi_control_awaddr), .s_wvalid(s_axi_control_wvalid),
    .s_wready(s_axi_control_wready), .s_wdata(s_axi_control_wdata), .s_wstrb(s_axi_control_wstrb),
    .s_bvalid(s_axi_control_bvalid), .s_bready(s_axi_control_bready),
    .s_bresp(s_axi_control_bresp), .s_arvalid(s_axi_control_arvalid),
    .s_arready(s_axi_control_arready), .s_araddr(s_axi_control_araddr),
    .s_rvalid(s_axi_control_rvalid), .s_rready(s_axi_control_rready),
    .s_rdata(s_axi_control_rdata), .s_rresp(s_axi_control_rresp),
    .m_awvalid(awvalid), .m_awready(awready), .m_awaddr(awaddr), .m_wvalid(wvalid),
    .m_wready(wready), .m_wdata(wdata), .m_wstrb(wstrb), .m_bvalid(bvalid), .m_bready(bready),
    .m_bresp(bresp), .m_arvalid(arvalid), .m_arready(arready), .m_araddr(araddr),
    .m_rvalid(rvalid), .m_rready(rready), .m_rdata(rdata), .m_rresp(rresp)
  );
  assign m_axi_araddr[63:32] = memory_high;
  assign m_axi_awaddr[63:32] = memory_high;
  fettle_vta core (
    .configuration_hash(CONFIGURATION_HASH),
    .clk(ap_clk), .resetn(ap_rst_n), .irq(core_interrupt), .s_axi_awvalid(awvalid),
    .s_axi_awready(awready), .s_axi_awaddr(awaddr), .s_axi_awprot(3'b0),
    .s_axi_wvalid(wvalid), .s_axi_wready(wready), .s_axi_wdata(wdata), .s_axi_wstrb(wstrb),
    .s_axi_bvalid(bvalid), .s_axi_bready(bready), .s_axi_bresp(bresp), .s_axi_arvalid(arvalid),
    .s_axi_arready(arready), .s_axi_araddr(araddr), .s_axi_arprot(3'b0), .s_axi_rvalid(rvalid),
    .s_axi_rready(rready), .s_axi_rdata(rdata), .s_axi_rresp(rresp),
    .m_axi_arvalid(m_axi_arvalid), .m_axi_arready(m_axi_arready),
    .m_axi_araddr(m_axi_araddr[31:0]), .m_axi_arid(m_axi_arid), .m_axi_arlen(m_axi_arlen),
    .m_axi_arsize(m_axi_arsize), .m_axi_arburst(m_axi_arburst), .m_axi_arcache(m_axi_arcache),
    .m_axi_arprot(m_axi_arprot), .m_axi_arlock(m_axi_arlock), .m_axi_arqos(m_axi_arqos),
    .m_axi_rvalid(m_axi_rvalid), .m_axi_rready(m_axi_rready), .m_axi_rid(m_axi_rid),
    .m_axi_rdata(m_axi_rdata), .m_axi_rresp(m_axi_rresp), .m_axi_rlast(m_axi_rlast),
    .m_axi_awvalid(m_axi_awvalid), .m_axi_awready(m_axi_awready),
    .m_axi_awaddr(m_axi_awaddr[31:0]), .m_axi_awid(m_axi_awid), .m_axi_awlen(m_axi_awlen),
    .m_axi_awsize(m_axi_awsize), .m_axi_awburst(m_axi_awburst), .m_axi_awcache(m_axi_awcache),
    .m_axi_awprot(m_axi_awprot), .m_axi_awlock(m_axi_awlock), .m_axi_awqos(m_axi_awqos),
    .m_axi_wvalid(m_axi_wvalid), .m_axi_wready(m_axi_wready), .m_axi_wdata(m_axi_wdata),
    .m_axi_wstrb(m_axi_wstrb), .m_axi_wlast(m_axi_wlast), .m_axi_bvalid(m_axi_bvalid),
    .m_axi_bready(m_axi_bready), .m_axi_bid(m_axi_bid), .m_axi_bresp(m_axi_bresp)
  );
  wire unused = &{1'b0, core_interrupt};  // its registers say what it would tell
endmodule
