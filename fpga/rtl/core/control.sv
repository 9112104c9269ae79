// Registers on AXI4-Lite, 32 bits each; the map stands in fpga/rtl/README.md.
// A start clears the counter, done and the errors. The counter runs from start to done or stop.
module control (
  input  logic         clk,
  input  logic         reset,
  input  logic [255:0] configuration_hash,
  input  logic         awvalid,
  output logic         awready,
  input  logic [11:0]  awaddr,
  input  logic         wvalid,
  output logic         wready,
  input  logic [31:0]  wdata,
  input  logic [3:0]   wstrb,
  output logic         bvalid,
  input  logic         bready,
  output logic [1:0]   bresp,
  input  logic         arvalid,
  output logic         arready,
  input  logic [11:0]  araddr,
  output logic         rvalid,
  input  logic         rready,
  output logic [31:0]  rdata,
  output logic [1:0]   rresp,
  output logic         irq,                // level: done, while enabled
  output logic         start,              // for a cycle
  output logic         stop,               // for a cycle
  input  logic         stopping,           // the stop, or the start, waits for the bus
  output logic [27:0]  instruction_count,
  output logic [31:0]  instruction_address,
  output logic [31:0]  uop_base,
  output logic [31:0]  inp_base,
  output logic [31:0]  wgt_base,
  output logic [31:0]  acc_base,
  output logic [31:0]  out_base,
  input  logic         finish,             // for a cycle: FINISH was executed
  input  logic [2:0]   errors              // for a cycle: reading, writing, unknown instruction
);
  localparam logic [31:0] IDENTIFICATION = 32'h4654_4c31;  // "FTL1"

  logic running, done, interrupt_enabled;
  logic [2:0] seen_errors;
  logic [63:0] cycles;
  logic [31:0] cycles_high;  // as they were when the low half was read
  logic writes;
  logic [31:0] mask;

  // A write is taken when both its address and its data are there and its answer can be given.
  assign writes = awvalid && wvalid && (!bvalid || bready);
  assign awready = writes;
  assign wready = writes;
  assign bresp = 2'b00;
  assign rresp = 2'b00;
  assign arready = !rvalid || rready;
  assign mask = {{8{wstrb[3]}}, {8{wstrb[2]}}, {8{wstrb[1]}}, {8{wstrb[0]}}};
  assign irq = done && interrupt_enabled;

  logic [31:0] full_count;
  assign instruction_count = full_count[27:0];

  always_ff @(posedge clk) begin
    start <= 1'b0;
    stop <= 1'b0;
    if (reset) begin
      running <= 1'b0;
      done <= 1'b0;
      interrupt_enabled <= 1'b0;
      seen_errors <= '0;
      cycles <= '0;
      bvalid <= 1'b0;
      full_count <= '0;
      instruction_address <= '0;
      uop_base <= '0;
      inp_base <= '0;
      wgt_base <= '0;
      acc_base <= '0;
      out_base <= '0;
    end else begin
      seen_errors <= seen_errors | errors;
      if (running) cycles <= cycles + 1'b1;
      if (finish && running) begin
        running <= 1'b0;
        done <= 1'b1;
      end
      if (bvalid && bready) bvalid <= 1'b0;
      if (writes) begin
        bvalid <= 1'b1;
        case (awaddr[11:2])
          10'h000:
            if (wdata[1] && wstrb[0]) begin
              stop <= 1'b1;
              running <= 1'b0;
            end else if (wdata[0] && wstrb[0] && !running) begin
              start <= 1'b1;
              running <= 1'b1;
              done <= 1'b0;
              seen_errors <= '0;
              cycles <= '0;
            end
          10'h002: full_count <= (full_count & ~mask) | (wdata & mask);
          10'h003: instruction_address <= (instruction_address & ~mask) | (wdata & mask);
          10'h004: uop_base <= (uop_base & ~mask) | (wdata & mask);
          10'h005: inp_base <= (inp_base & ~mask) | (wdata & mask);
          10'h006: wgt_base <= (wgt_base & ~mask) | (wdata & mask);
          10'h007: acc_base <= (acc_base & ~mask) | (wdata & mask);
          10'h008: out_base <= (out_base & ~mask) | (wdata & mask);
          10'h00b: if (wstrb[0]) interrupt_enabled <= wdata[0];
          default: ;
        endcase
      end
    end
  end

  always_ff @(posedge clk) begin
    if (reset) begin
      rvalid <= 1'b0;
      cycles_high <= '0;
    end else if (arready) begin
      rvalid <= arvalid;
      if (arvalid && araddr[11:2] == 10'h001) cycles_high <= cycles[63:32];
    end
    if (arready) begin
      case (araddr[11:2])
        10'h000: rdata <= {30'b0, done, running || stopping};
        10'h001: rdata <= cycles[31:0];
        10'h002: rdata <= full_count;
        10'h003: rdata <= instruction_address;
        10'h004: rdata <= uop_base;
        10'h005: rdata <= inp_base;
        10'h006: rdata <= wgt_base;
        10'h007: rdata <= acc_base;
        10'h008: rdata <= out_base;
        10'h009: rdata <= cycles_high;
        10'h00a: rdata <= {29'b0, seen_errors};
        10'h00b: rdata <= {31'b0, interrupt_enabled};
        10'h00f: rdata <= IDENTIFICATION;
        10'h010: rdata <= configuration_hash[31:0];
        10'h011: rdata <= configuration_hash[63:32];
        10'h012: rdata <= configuration_hash[95:64];
        10'h013: rdata <= configuration_hash[127:96];
        10'h014: rdata <= configuration_hash[159:128];
        10'h015: rdata <= configuration_hash[191:160];
        10'h016: rdata <= configuration_hash[223:192];
        10'h017: rdata <= configuration_hash[255:224];
        default: rdata <= '0;
      endcase
    end
  end

  wire unused = &{1'b0, awaddr[1:0], araddr[1:0], full_count[31:28]};
endmodule
