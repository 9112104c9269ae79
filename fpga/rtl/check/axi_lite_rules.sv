// What AXI4-Lite asks of the core's slave, as assertions: an answer to every access and none
// besides, that stays until it is taken.
module axi_lite_rules (
  input logic        clk,
  input logic        resetn,
  input logic        awvalid,
  input logic        awready,
  input logic        wvalid,
  input logic        wready,
  input logic        bvalid,
  input logic        bready,
  input logic        arvalid,
  input logic        arready,
  input logic        rvalid,
  input logic        rready,
  input logic [31:0] rdata
);
  logic b_waited, r_waited;
  logic [31:0] old_rdata;
  logic [3:0] addresses, data, reads;  // taken, and not answered

  always_ff @(posedge clk) begin
    b_waited <= resetn && bvalid && !bready;
    r_waited <= resetn && rvalid && !rready;
    old_rdata <= rdata;
    if (!resetn) begin
      addresses <= '0;
      data <= '0;
      reads <= '0;
    end else begin
      addresses <= addresses + 4'(awvalid && awready) - 4'(bvalid && bready);
      data <= data + 4'(wvalid && wready) - 4'(bvalid && bready);
      reads <= reads + 4'(arvalid && arready) - 4'(rvalid && rready);
      if (b_waited) assert (bvalid) else $error("an answer to a write vanished");
      if (r_waited)
        assert (rvalid && rdata == old_rdata) else $error("an answer to a read changed");
      if (bvalid)
        assert (addresses != '0 && data != '0) else $error("an answer before its write");
      if (rvalid) assert (reads != '0) else $error("an answer before its read");
    end
  end
endmodule
