// The core with its bus rules, for Verilator: what the cycle-accurate device is made of.
module verilated_core (
  input  logic         clk,
  input  logic         resetn,
  input  logic [255:0] configuration_hash,
  output logic         irq,
  input  logic         s_axi_awvalid,
  output logic         s_axi_awready,
  input  logic [11:0]  s_axi_awaddr,
  input  logic [2:0]   s_axi_awprot,
  input  logic         s_axi_wvalid,
  output logic         s_axi_wready,
  input  logic [31:0]  s_axi_wdata,
  input  logic [3:0]   s_axi_wstrb,
  output logic         s_axi_bvalid,
  input  logic         s_axi_bready,
  output logic [1:0]   s_axi_bresp,
  input  logic         s_axi_arvalid,
  output logic         s_axi_arready,
  input  logic [11:0]  s_axi_araddr,
  input  logic [2:0]   s_axi_arprot,
  output logic         s_axi_rvalid,
  input  logic         s_axi_rready,
  output logic [31:0]  s_axi_rdata,
  output logic [1:0]   s_axi_rresp,
  output logic         m_axi_arvalid,
  input  logic         m_axi_arready,
  output logic [31:0]  m_axi_araddr,
  output logic [1:0]   m_axi_arid,
  output logic [7:0]   m_axi_arlen,
  output logic [2:0]   m_axi_arsize,
  output logic [1:0]   m_axi_arburst,
  output logic [3:0]   m_axi_arcache,
  output logic [2:0]   m_axi_arprot,
  output logic         m_axi_arlock,
  output logic [3:0]   m_axi_arqos,
  input  logic         m_axi_rvalid,
  output logic         m_axi_rready,
  input  logic [1:0]   m_axi_rid,
  input  logic [63:0]  m_axi_rdata,
  input  logic [1:0]   m_axi_rresp,
  input  logic         m_axi_rlast,
  output logic         m_axi_awvalid,
  input  logic         m_axi_awready,
  output logic [31:0]  m_axi_awaddr,
  output logic [1:0]   m_axi_awid,
  output logic [7:0]   m_axi_awlen,
  output logic [2:0]   m_axi_awsize,
  output logic [1:0]   m_axi_awburst,
  output logic [3:0]   m_axi_awcache,
  output logic [2:0]   m_axi_awprot,
  output logic         m_axi_awlock,
  output logic [3:0]   m_axi_awqos,
  output logic         m_axi_wvalid,
  input  logic         m_axi_wready,
  output logic [63:0]  m_axi_wdata,
  output logic [7:0]   m_axi_wstrb,
  output logic         m_axi_wlast,
  input  logic         m_axi_bvalid,
  output logic         m_axi_bready,
  input  logic [1:0]   m_axi_bid,
  input  logic [1:0]   m_axi_bresp
);
  fettle_vta core (
    .clk, .resetn, .configuration_hash, .irq, .s_axi_awvalid, .s_axi_awready, .s_axi_awaddr,
    .s_axi_awprot, .s_axi_wvalid, .s_axi_wready, .s_axi_wdata, .s_axi_wstrb, .s_axi_bvalid,
    .s_axi_bready, .s_axi_bresp, .s_axi_arvalid, .s_axi_arready, .s_axi_araddr, .s_axi_arprot,
    .s_axi_rvalid, .s_axi_rready, .s_axi_rdata, .s_axi_rresp, .m_axi_arvalid, .m_axi_arready,
    .m_axi_araddr, .m_axi_arid, .m_axi_arlen, .m_axi_arsize, .m_axi_arburst, .m_axi_arcache,
    .m_axi_arprot, .m_axi_arlock, .m_axi_arqos, .m_axi_rvalid, .m_axi_rready, .m_axi_rid,
    .m_axi_rdata, .m_axi_rresp, .m_axi_rlast, .m_axi_awvalid, .m_axi_awready, .m_axi_awaddr,
    .m_axi_awid, .m_axi_awlen, .m_axi_awsize, .m_axi_awburst, .m_axi_awcache, .m_axi_awprot,
    .m_axi_awlock, .m_axi_awqos, .m_axi_wvalid, .m_axi_wready, .m_axi_wdata, .m_axi_wstrb,
    .m_axi_wlast, .m_axi_bvalid, .m_axi_bready, .m_axi_bid, .m_axi_bresp
  );

  axi_rules master_rules (
    .clk, .resetn, .arvalid(m_axi_arvalid), .arready(m_axi_arready), .araddr(m_axi_araddr),
    .arid(m_axi_arid), .arlen(m_axi_arlen), .rvalid(m_axi_rvalid), .rready(m_axi_rready),
    .rid(m_axi_rid), .rlast(m_axi_rlast), .awvalid(m_axi_awvalid), .awready(m_axi_awready),
    .awaddr(m_axi_awaddr), .awlen(m_axi_awlen), .wvalid(m_axi_wvalid), .wready(m_axi_wready),
    .wdata(m_axi_wdata), .wlast(m_axi_wlast), .bvalid(m_axi_bvalid), .bready(m_axi_bready)
  );
  axi_lite_rules slave_rules (
    .clk, .resetn, .awvalid(s_axi_awvalid), .awready(s_axi_awready), .wvalid(s_axi_wvalid),
    .wready(s_axi_wready), .bvalid(s_axi_bvalid), .bready(s_axi_bready), .arvalid(s_axi_arvalid),
    .arready(s_axi_arready), .rvalid(s_axi_rvalid), .rready(s_axi_rready), .rdata(s_axi_rdata)
  );

  // Besides: what no parameter changes.
  always_ff @(posedge clk) begin
    if (resetn && m_axi_arvalid)
      assert (m_axi_arsize == 3'b011 && m_axi_arburst == 2'b01) else $error("read burst type");
    if (resetn && m_axi_awvalid)
      assert (m_axi_awsize == 3'b011 && m_axi_awburst == 2'b01) else $error("write burst type");
    if (resetn && m_axi_wvalid) assert (m_axi_wstrb == '1) else $error("write strobes");
  end
endmodule
