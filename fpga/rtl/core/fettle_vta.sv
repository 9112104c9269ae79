// fettle's core of the VTA instruction set: an AXI4-Lite slave for control, an AXI4 master for
// everything in DRAM. Parameters are a design's (fpga/config); their defaults are the Pynq's.
// Elements of INP, WGT, ACC and OUT are whole 64-bit beats, and as many as a power of two; OUT is
// as deep as ACC.
module fettle_vta #(
  parameter int BATCH = 1,
  parameter int BLOCK_IN = 16,
  parameter int BLOCK_OUT = 16,
  parameter int INPUT_WIDTH = 8,
  parameter int WEIGHT_WIDTH = 8,
  parameter int ACC_WIDTH = 32,
  parameter int OUT_WIDTH = 8,
  parameter int LOG_UOP = 13,               // depths
  parameter int LOG_INP = 11,
  parameter int LOG_WGT = 10,
  parameter int LOG_ACC = 11,
  parameter int LOG_COMMANDS = 9,           // depth of each unit's command queue
  parameter int TOKENS = 1024,              // depth of each token queue
  parameter int MAX_BEATS = 16,             // of a burst: AXI3 ports take 16
  parameter int LOG_READ_BUFFER = 7,        // beats that load, and compute, may have under way
  parameter int LOG_OUTSTANDING_WRITES = 3  // bursts
) (
  input  logic        clk,
  input  logic        resetn,
  input  logic [255:0] configuration_hash,  // constant: the design's identity, first byte lowest
  output logic        irq,
  // AXI4-Lite.
  input  logic        s_axi_awvalid,
  output logic        s_axi_awready,
  input  logic [11:0] s_axi_awaddr,
  input  logic [2:0]  s_axi_awprot,
  input  logic        s_axi_wvalid,
  output logic        s_axi_wready,
  input  logic [31:0] s_axi_wdata,
  input  logic [3:0]  s_axi_wstrb,
  output logic        s_axi_bvalid,
  input  logic        s_axi_bready,
  output logic [1:0]  s_axi_bresp,
  input  logic        s_axi_arvalid,
  output logic        s_axi_arready,
  input  logic [11:0] s_axi_araddr,
  input  logic [2:0]  s_axi_arprot,
  output logic        s_axi_rvalid,
  input  logic        s_axi_rready,
  output logic [31:0] s_axi_rdata,
  output logic [1:0]  s_axi_rresp,
  // AXI4.
  output logic        m_axi_arvalid,
  input  logic        m_axi_arready,
  output logic [31:0] m_axi_araddr,
  output logic [1:0]  m_axi_arid,
  output logic [7:0]  m_axi_arlen,
  output logic [2:0]  m_axi_arsize,
  output logic [1:0]  m_axi_arburst,
  output logic [3:0]  m_axi_arcache,
  output logic [2:0]  m_axi_arprot,
  output logic        m_axi_arlock,
  output logic [3:0]  m_axi_arqos,
  input  logic        m_axi_rvalid,
  output logic        m_axi_rready,
  input  logic [1:0]  m_axi_rid,
  input  logic [63:0] m_axi_rdata,
  input  logic [1:0]  m_axi_rresp,
  input  logic        m_axi_rlast,
  output logic        m_axi_awvalid,
  input  logic        m_axi_awready,
  output logic [31:0] m_axi_awaddr,
  output logic [1:0]  m_axi_awid,
  output logic [7:0]  m_axi_awlen,
  output logic [2:0]  m_axi_awsize,
  output logic [1:0]  m_axi_awburst,
  output logic [3:0]  m_axi_awcache,
  output logic [2:0]  m_axi_awprot,
  output logic        m_axi_awlock,
  output logic [3:0]  m_axi_awqos,
  output logic        m_axi_wvalid,
  input  logic        m_axi_wready,
  output logic [63:0] m_axi_wdata,
  output logic [7:0]  m_axi_wstrb,
  output logic        m_axi_wlast,
  input  logic        m_axi_bvalid,
  output logic        m_axi_bready,
  input  logic [1:0]  m_axi_bid,
  input  logic [1:0]  m_axi_bresp
);
  localparam int ADDRESS_WIDTH = 32;
  localparam int LOG_INP_BYTES = $clog2(BATCH * BLOCK_IN * INPUT_WIDTH / 8);
  localparam int LOG_WGT_BYTES = $clog2(BLOCK_OUT * BLOCK_IN * WEIGHT_WIDTH / 8);
  localparam int LOG_OUT_BYTES = $clog2(BATCH * BLOCK_OUT * OUT_WIDTH / 8);
  // A sender here claims a token's place when it begins and not when it ends: with room for one
  // that is being made and one that is being taken, no program that runs with queues of TOKENS
  // stops here.
  localparam int TOKEN_DEPTH = TOKENS + 2;
  localparam int LOG_SRC = LOG_INP > LOG_ACC ? LOG_INP : LOG_ACC;

  if (LOG_INP_BYTES < 3 || BATCH * BLOCK_IN * INPUT_WIDTH != 8 << LOG_INP_BYTES)
    $error("an element of INP is to be beats of 64 bits, and a power of two of them");
  if (LOG_WGT_BYTES < 3 || BLOCK_OUT * BLOCK_IN * WEIGHT_WIDTH != 8 << LOG_WGT_BYTES)
    $error("an element of WGT is to be beats of 64 bits, and a power of two of them");
  if (LOG_OUT_BYTES < 3 || BATCH * BLOCK_OUT * OUT_WIDTH != 8 << LOG_OUT_BYTES)
    $error("an element of OUT is to be beats of 64 bits, and a power of two of them");
  if (BLOCK_OUT % 2 != 0) $error("outputs are multiplied in pairs");
  if (INPUT_WIDTH + 2 * WEIGHT_WIDTH + 1 > 25 || INPUT_WIDTH > 18)
    $error("two products do not fit a multiplier of 25 x 18 bits");
  if (LOG_ACC + LOG_SRC + LOG_WGT > 32) $error("a micro-op has 32 bits");
  if (2 * LOG_UOP + 37 > 64 || 2 * (LOG_ACC + LOG_INP + LOG_WGT) > 64 || 4 * LOG_ACC + 20 > 64)
    $error("an instruction's words have 64 bits");
  if (MAX_BEATS > 64 || MAX_BEATS > 1 << LOG_READ_BUFFER)
    $error("a burst is to fit the buffers of fetch, load and compute");

  logic reset, start, stop, go, hold, units_reset, reads_drained, writes_drained;
  logic finish, read_error, write_error, unknown_instruction;
  logic [27:0] instruction_count;
  logic [31:0] instruction_address, uop_base, inp_base, wgt_base, acc_base, out_base;
  assign reset = !resetn;

  control registers (
    .clk, .reset, .configuration_hash,
    .awvalid(s_axi_awvalid), .awready(s_axi_awready), .awaddr(s_axi_awaddr),
    .wvalid(s_axi_wvalid), .wready(s_axi_wready), .wdata(s_axi_wdata), .wstrb(s_axi_wstrb),
    .bvalid(s_axi_bvalid), .bready(s_axi_bready), .bresp(s_axi_bresp),
    .arvalid(s_axi_arvalid), .arready(s_axi_arready), .araddr(s_axi_araddr),
    .rvalid(s_axi_rvalid), .rready(s_axi_rready), .rdata(s_axi_rdata), .rresp(s_axi_rresp),
    .irq, .start, .stop, .stopping(hold), .instruction_count, .instruction_address, .uop_base,
    .inp_base, .wgt_base, .acc_base, .out_base, .finish,
    .errors({unknown_instruction, write_error, read_error})
  );

  restart restarting (
    .clk, .reset, .start, .stop, .drained(reads_drained && writes_drained), .hold, .units_reset,
    .go
  );

  // Reads: compute first, as it waits for them; then fetch, which asks for little; then load.
  localparam int COMPUTE = 0, FETCH = 1, LOAD = 2;
  logic [2:0] request_valid, request_ready, beat_valid;
  logic [31:0] request_address[3];
  logic [8:0] request_beats[3];
  logic [63:0] beat_data;
  read_arbiter #(.CLIENTS(3), .ADDRESS_WIDTH(ADDRESS_WIDTH), .ID_WIDTH(2)) reads (
    .clk, .reset, .request_valid, .request_ready,
    .request_address({request_address[LOAD], request_address[FETCH], request_address[COMPUTE]}),
    .request_beats({request_beats[LOAD], request_beats[FETCH], request_beats[COMPUTE]}),
    .beat_valid, .beat_data, .read_error, .hold, .drained(reads_drained),
    .arvalid(m_axi_arvalid), .arready(m_axi_arready), .araddr(m_axi_araddr), .arid(m_axi_arid),
    .arlen(m_axi_arlen),
    .rvalid(m_axi_rvalid), .rready(m_axi_rready), .rid(m_axi_rid), .rdata(m_axi_rdata),
    .rresp(m_axi_rresp), .rlast(m_axi_rlast)
  );

  // Fetch and the command queues.
  logic [127:0] fetched, load_head, compute_head, store_head;
  logic to_load_valid, to_load_ready, to_compute_valid, to_compute_ready, to_store_valid,
        to_store_ready;
  logic load_valid, load_ready, compute_valid, compute_ready, store_valid, store_ready;
  fetch_stage #(.ADDRESS_WIDTH(ADDRESS_WIDTH), .MAX_BEATS(MAX_BEATS)) fetch (
    .clk, .reset(units_reset), .start(go), .address(instruction_address),
    .count(instruction_count),
    .request_valid(request_valid[FETCH]), .request_ready(request_ready[FETCH]),
    .request_address(request_address[FETCH]), .request_beats(request_beats[FETCH]),
    .beat_valid(beat_valid[FETCH]), .beat_data,
    .load_valid(to_load_valid), .load_ready(to_load_ready),
    .compute_valid(to_compute_valid), .compute_ready(to_compute_ready),
    .store_valid(to_store_valid), .store_ready(to_store_ready), .instruction(fetched)
  );
  command_queue #(.LOG_DEPTH(LOG_COMMANDS)) load_queue (
    .clk, .reset(units_reset), .in_valid(to_load_valid), .in_ready(to_load_ready),
    .in_data(fetched), .out_valid(load_valid), .out_ready(load_ready), .out_data(load_head)
  );
  command_queue #(.LOG_DEPTH(LOG_COMMANDS)) compute_queue (
    .clk, .reset(units_reset), .in_valid(to_compute_valid), .in_ready(to_compute_ready),
    .in_data(fetched), .out_valid(compute_valid), .out_ready(compute_ready),
    .out_data(compute_head)
  );
  command_queue #(.LOG_DEPTH(LOG_COMMANDS)) store_queue (
    .clk, .reset(units_reset), .in_valid(to_store_valid), .in_ready(to_store_ready),
    .in_data(fetched), .out_valid(store_valid), .out_ready(store_ready), .out_data(store_head)
  );

  // Tokens: loaded goes from load to compute, free back; computed from compute to store, stored
  // back.
  logic loaded_claim_ready, loaded_claim, loaded_push, loaded_valid, loaded_pop;
  logic free_claim_ready, free_claim, free_push, free_valid, free_pop;
  logic computed_claim_ready, computed_claim, computed_push, computed_valid, computed_pop;
  logic stored_claim_ready, stored_claim, stored_push, stored_valid, stored_pop;
  token_queue #(.DEPTH(TOKEN_DEPTH)) loaded (
    .clk, .reset(units_reset), .claim_ready(loaded_claim_ready), .claim(loaded_claim),
    .push(loaded_push), .pop_valid(loaded_valid), .pop(loaded_pop)
  );
  token_queue #(.DEPTH(TOKEN_DEPTH)) free (
    .clk, .reset(units_reset), .claim_ready(free_claim_ready), .claim(free_claim),
    .push(free_push), .pop_valid(free_valid), .pop(free_pop)
  );
  token_queue #(.DEPTH(TOKEN_DEPTH)) computed (
    .clk, .reset(units_reset), .claim_ready(computed_claim_ready), .claim(computed_claim),
    .push(computed_push), .pop_valid(computed_valid), .pop(computed_pop)
  );
  token_queue #(.DEPTH(TOKEN_DEPTH)) stored (
    .clk, .reset(units_reset), .claim_ready(stored_claim_ready), .claim(stored_claim),
    .push(stored_push), .pop_valid(stored_valid), .pop(stored_pop)
  );

  logic [LOG_INP-1:0] inp_index;
  logic [BATCH*BLOCK_IN*INPUT_WIDTH-1:0] inp_data;
  logic [LOG_WGT-1:0] wgt_index;
  logic [BLOCK_OUT*BLOCK_IN*WEIGHT_WIDTH-1:0] wgt_data;
  logic out_read;
  logic [LOG_ACC-1:0] out_index;
  logic [BATCH*BLOCK_OUT*OUT_WIDTH-1:0] out_data;

  load_stage #(
    .ADDRESS_WIDTH(ADDRESS_WIDTH), .MAX_BEATS(MAX_BEATS), .LOG_BUFFER(LOG_READ_BUFFER),
    .LOG_INP(LOG_INP), .LOG_WGT(LOG_WGT), .LOG_INP_BYTES(LOG_INP_BYTES),
    .LOG_WGT_BYTES(LOG_WGT_BYTES)
  ) load (
    .clk, .reset(units_reset), .instruction_valid(load_valid), .instruction_ready(load_ready),
    .instruction(load_head), .inp_base, .wgt_base, .free_valid, .free_pop, .loaded_claim_ready,
    .loaded_claim, .loaded_push,
    .request_valid(request_valid[LOAD]), .request_ready(request_ready[LOAD]),
    .request_address(request_address[LOAD]), .request_beats(request_beats[LOAD]),
    .beat_valid(beat_valid[LOAD]), .beat_data, .inp_index, .inp_data, .wgt_index, .wgt_data
  );

  compute_stage #(
    .ADDRESS_WIDTH(ADDRESS_WIDTH), .MAX_BEATS(MAX_BEATS), .LOG_BUFFER(LOG_READ_BUFFER),
    .BATCH(BATCH), .BLOCK_IN(BLOCK_IN), .BLOCK_OUT(BLOCK_OUT), .INPUT_WIDTH(INPUT_WIDTH),
    .WEIGHT_WIDTH(WEIGHT_WIDTH), .ACC_WIDTH(ACC_WIDTH), .OUT_WIDTH(OUT_WIDTH),
    .LOG_UOP(LOG_UOP), .LOG_INP(LOG_INP), .LOG_WGT(LOG_WGT), .LOG_ACC(LOG_ACC)
  ) compute (
    .clk, .reset(units_reset), .instruction_valid(compute_valid),
    .instruction_ready(compute_ready), .instruction(compute_head), .uop_base, .acc_base, .finish,
    .unknown_instruction, .loaded_valid, .loaded_pop, .stored_valid, .stored_pop,
    .free_claim_ready, .free_claim, .free_push, .computed_claim_ready, .computed_claim,
    .computed_push,
    .request_valid(request_valid[COMPUTE]), .request_ready(request_ready[COMPUTE]),
    .request_address(request_address[COMPUTE]), .request_beats(request_beats[COMPUTE]),
    .beat_valid(beat_valid[COMPUTE]), .beat_data, .inp_index, .inp_data, .wgt_index, .wgt_data,
    .out_read, .out_index, .out_data
  );

  store_stage #(
    .ADDRESS_WIDTH(ADDRESS_WIDTH), .MAX_BEATS(MAX_BEATS),
    .LOG_OUTSTANDING(LOG_OUTSTANDING_WRITES), .LOG_OUT(LOG_ACC), .LOG_OUT_BYTES(LOG_OUT_BYTES)
  ) store (
    .clk, .reset(units_reset), .instruction_valid(store_valid), .instruction_ready(store_ready),
    .instruction(store_head), .out_base, .computed_valid, .computed_pop, .stored_claim_ready,
    .stored_claim, .stored_push, .out_index, .out_read, .out_data, .write_error, .hold,
    .drained(writes_drained),
    .awvalid(m_axi_awvalid), .awready(m_axi_awready), .awaddr(m_axi_awaddr), .awlen(m_axi_awlen),
    .wvalid(m_axi_wvalid), .wready(m_axi_wready), .wdata(m_axi_wdata), .wlast(m_axi_wlast),
    .bvalid(m_axi_bvalid), .bready(m_axi_bready), .bresp(m_axi_bresp)
  );

  // What never changes: incrementing bursts of 64-bit beats, all bytes; write-back, allocating on
  // both (AxCACHE 1111), which the Zynq's coherent port wants.
  assign m_axi_arsize = 3'b011;
  assign m_axi_arburst = 2'b01;
  assign m_axi_arcache = 4'b1111;
  assign m_axi_arprot = 3'b000;
  assign m_axi_arlock = 1'b0;
  assign m_axi_arqos = 4'b0000;
  assign m_axi_awid = 2'b00;
  assign m_axi_awsize = 3'b011;
  assign m_axi_awburst = 2'b01;
  assign m_axi_awcache = 4'b1111;
  assign m_axi_awprot = 3'b000;
  assign m_axi_awlock = 1'b0;
  assign m_axi_awqos = 4'b0000;
  assign m_axi_wstrb = '1;

  wire unused = &{1'b0, s_axi_awprot, s_axi_arprot, m_axi_bid};
endmodule
