// The load unit: LOAD of INP and WGT. An instruction's reads are asked for while the data of the
// one before still comes; what was read is written, and tokens are pushed, in order.
module load_stage #(
  parameter int ADDRESS_WIDTH = 32,
  parameter int MAX_BEATS = 16,
  parameter int LOG_BUFFER = 7,
  parameter int LOG_INP = 11,         // depth
  parameter int LOG_WGT = 10,
  parameter int LOG_INP_BYTES = 4,    // of an element, at least a beat
  parameter int LOG_WGT_BYTES = 8
) (
  input  logic                          clk,
  input  logic                          reset,
  input  logic                          instruction_valid,
  output logic                          instruction_ready,
  input  logic [127:0]                  instruction,
  input  logic [ADDRESS_WIDTH-1:0]      inp_base,
  input  logic [ADDRESS_WIDTH-1:0]      wgt_base,
  // Tokens: from compute, to compute.
  input  logic                          free_valid,
  output logic                          free_pop,
  input  logic                          loaded_claim_ready,
  output logic                          loaded_claim,
  output logic                          loaded_push,
  output logic                          request_valid,
  input  logic                          request_ready,
  output logic [ADDRESS_WIDTH-1:0]      request_address,
  output logic [8:0]                    request_beats,
  input  logic                          beat_valid,
  input  logic [63:0]                   beat_data,
  // What the GEMM reads; a cycle later.
  input  logic [LOG_INP-1:0]            inp_index,
  output logic [8*(1<<LOG_INP_BYTES)-1:0] inp_data,
  input  logic [LOG_WGT-1:0]            wgt_index,
  output logic [8*(1<<LOG_WGT_BYTES)-1:0] wgt_data
);
  localparam int INP_BANKS = 1 << (LOG_INP_BYTES - 3);
  localparam int WGT_BANKS = 1 << (LOG_WGT_BYTES - 3);
  localparam int BEAT_WIDTH = 8;
  localparam int JOB_WIDTH = 3 + 16 + 32 + 16;

  // Decoding and asking.
  logic is_weight, pop_next, push_next, tokens_there, client_ready, empty, job_ready;
  logic [15:0] sram_base, x_size, y_size;
  logic [3:0] pad_top, pad_bottom, pad_left, pad_right;
  logic [ADDRESS_WIDTH-1:0] address, stride;
  logic [31:0] row_bytes;

  assign is_weight = instruction[9:7] == vta_isa::MEMORY_WGT;
  assign pop_next = instruction[4];
  assign push_next = instruction[6];
  assign tokens_there = (!pop_next || free_valid) && (!push_next || loaded_claim_ready);
  assign instruction_ready = tokens_there && job_ready && (empty || client_ready);

  logic begins;
  assign begins = instruction_valid && instruction_ready;
  assign free_pop = begins && pop_next;
  assign loaded_claim = begins && push_next;

  decode_memory #(.ADDRESS_WIDTH(ADDRESS_WIDTH)) decode (
    .instruction, .base(is_weight ? wgt_base : inp_base),
    .log_bytes(is_weight ? 4'(LOG_WGT_BYTES) : 4'(LOG_INP_BYTES)),
    .empty, .sram_base, .x_size, .y_size, .pad_top, .pad_bottom, .pad_left, .pad_right,
    .address, .row_bytes, .stride
  );

  logic stream_valid, stream_ready;
  logic [63:0] stream_data;
  read_client #(
    .ADDRESS_WIDTH(ADDRESS_WIDTH), .MAX_BEATS(MAX_BEATS), .LOG_BUFFER(LOG_BUFFER)
  ) client (
    .clk, .reset,
    .start_valid(begins && !empty), .start_ready(client_ready), .start_address(address),
    .start_row_bytes(row_bytes), .start_rows(y_size), .start_stride(stride),
    .request_valid, .request_ready, .request_address, .request_beats, .beat_valid, .beat_data,
    .stream_valid, .stream_ready, .stream_data
  );

  // Writing. Jobs wait here in order.
  logic [JOB_WIDTH-1:0] job;
  logic job_valid, job_takes, job_empty, job_is_weight, job_push;
  logic [15:0] job_index, job_x_size, job_y_size;
  logic [3:0] job_top, job_bottom, job_left, job_right;
  fifo #(.WIDTH(JOB_WIDTH), .LOG_DEPTH(2)) jobs (
    .clk, .reset,
    .in_valid(begins), .in_ready(job_ready),
    .in_data({empty, is_weight, push_next, sram_base, x_size, y_size, pad_top, pad_bottom,
              pad_left, pad_right}),
    .out_valid(job_valid), .out_ready(job_takes), .out_data(job)
  );
  assign {job_empty, job_is_weight, job_push, job_index, job_x_size, job_y_size, job_top,
          job_bottom, job_left, job_right} = job;

  logic writer_ready, write_beat, write_zero, written, writes_weight, pushes_later;
  logic [15:0] index;
  logic [BEAT_WIDTH-1:0] beat;
  cell_writer #(.LOG_DEPTH(16), .BEAT_WIDTH(BEAT_WIDTH)) writer (
    .clk, .reset,
    .start_valid(job_valid && !job_empty), .start_ready(writer_ready), .start_index(job_index),
    .start_last_beat(job_is_weight ? BEAT_WIDTH'(WGT_BANKS - 1) : BEAT_WIDTH'(INP_BANKS - 1)),
    .x_size(job_x_size), .y_size(job_y_size), .pad_top(job_top), .pad_bottom(job_bottom),
    .pad_left(job_left), .pad_right(job_right),
    .stream_valid, .stream_ready, .write_beat, .write_zero, .index, .beat, .done(written)
  );
  assign job_takes = writer_ready;
  assign loaded_push = (written && pushes_later) || (job_valid && job_takes && job_empty && job_push);

  always_ff @(posedge clk) begin
    if (job_valid && job_takes) begin
      writes_weight <= job_is_weight;
      pushes_later <= job_push;
    end
  end

  // The memories. Indices beyond their depths wrap around.
  logic [INP_BANKS-1:0] inp_write;
  logic [WGT_BANKS-1:0] wgt_write;
  logic [63:0] data;
  assign data = write_zero ? '0 : stream_data;
  always_comb begin
    for (int i = 0; i < INP_BANKS; i++)
      inp_write[i] = !writes_weight && (write_zero || (write_beat && beat == BEAT_WIDTH'(i)));
    for (int i = 0; i < WGT_BANKS; i++)
      wgt_write[i] = writes_weight && (write_zero || (write_beat && beat == BEAT_WIDTH'(i)));
  end

  banked_ram #(.BANKS(INP_BANKS), .BANK_WIDTH(64), .LOG_DEPTH(LOG_INP)) inp (
    .clk, .write(inp_write), .write_index(index[LOG_INP-1:0]), .write_data({INP_BANKS{data}}),
    .read(1'b1), .read_index(inp_index), .read_data(inp_data)
  );
  banked_ram #(.BANKS(WGT_BANKS), .BANK_WIDTH(64), .LOG_DEPTH(LOG_WGT)) wgt (
    .clk, .write(wgt_write), .write_index(index[LOG_WGT-1:0]), .write_data({WGT_BANKS{data}}),
    .read(1'b1), .read_index(wgt_index), .read_data(wgt_data)
  );

  wire unused = &{1'b0, index};
endmodule
