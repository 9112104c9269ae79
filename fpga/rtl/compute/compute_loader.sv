// LOAD of UOP and ACC: the compute unit's share of DRAM. Jobs are done in order; what they read is
// asked for as soon as they are handed over, and written once `may_write`.
module compute_loader #(
  parameter int ADDRESS_WIDTH = 32,
  parameter int MAX_BEATS = 16,
  parameter int LOG_BUFFER = 7,
  parameter int LOG_UOP = 13,
  parameter int LOG_ACC = 11,
  parameter int LOG_ACC_BYTES = 6,
  parameter int BEAT_WIDTH = 8
) (
  input  logic                     clk,
  input  logic                     reset,
  input  logic                     start_valid,
  output logic                     start_ready,
  input  logic [127:0]             instruction,   // not an empty one
  input  logic [ADDRESS_WIDTH-1:0] uop_base,
  input  logic [ADDRESS_WIDTH-1:0] acc_base,
  input  logic                     may_write,
  output logic                     done,          // with a job's last write
  output logic                     request_valid,
  input  logic                     request_ready,
  output logic [ADDRESS_WIDTH-1:0] request_address,
  output logic [8:0]               request_beats,
  input  logic                     beat_valid,
  input  logic [63:0]              beat_data,
  output logic [1:0]               uop_write,
  output logic [LOG_UOP-1:0]       uop_index,
  output logic [63:0]              uop_data,
  output logic                     acc_write_beat,
  output logic                     acc_write_zero,
  output logic [LOG_ACC-1:0]       acc_index,
  output logic [BEAT_WIDTH-1:0]    acc_beat,
  output logic [63:0]              acc_data
);
  localparam int JOB_WIDTH = 2 + 16 + 32 + 16;
  localparam int ACC_BEATS = 1 << (LOG_ACC_BYTES - 3);

  logic is_uop, unused_empty, client_ready, job_ready, starts;
  logic [15:0] sram_base, x_size, y_size;
  logic [3:0] pad_top, pad_bottom, pad_left, pad_right;
  logic [ADDRESS_WIDTH-1:0] address, stride;
  logic [31:0] row_bytes;

  assign is_uop = instruction[9:7] == vta_isa::MEMORY_UOP;
  assign start_ready = client_ready && job_ready;
  assign starts = start_valid && start_ready;

  decode_memory #(.ADDRESS_WIDTH(ADDRESS_WIDTH)) decode (
    .instruction, .base(is_uop ? uop_base : acc_base),
    .log_bytes(is_uop ? 4'd2 : 4'(LOG_ACC_BYTES)),
    .empty(unused_empty), .sram_base, .x_size, .y_size, .pad_top, .pad_bottom, .pad_left,
    .pad_right, .address, .row_bytes, .stride
  );

  logic stream_valid, stream_ready;
  logic [63:0] stream_data;
  read_client #(
    .ADDRESS_WIDTH(ADDRESS_WIDTH), .MAX_BEATS(MAX_BEATS), .LOG_BUFFER(LOG_BUFFER)
  ) client (
    .clk, .reset,
    .start_valid(starts), .start_ready(client_ready), .start_address(address),
    .start_row_bytes(row_bytes), .start_rows(is_uop ? 16'd1 : y_size), .start_stride(stride),
    .request_valid, .request_ready, .request_address, .request_beats, .beat_valid, .beat_data,
    .stream_valid, .stream_ready, .stream_data
  );

  logic [JOB_WIDTH-1:0] job;
  logic job_valid, job_takes, job_is_uop, job_high;
  logic [15:0] job_index, job_x_size, job_y_size;
  logic [3:0] job_top, job_bottom, job_left, job_right;
  fifo #(.WIDTH(JOB_WIDTH), .LOG_DEPTH(1)) jobs (
    .clk, .reset,
    .in_valid(starts), .in_ready(job_ready),
    .in_data({is_uop, address[2], sram_base, x_size, y_size, pad_top, pad_bottom, pad_left,
              pad_right}),
    .out_valid(job_valid), .out_ready(job_takes), .out_data(job)
  );
  assign {job_is_uop, job_high, job_index, job_x_size, job_y_size, job_top, job_bottom, job_left,
          job_right} = job;

  // One of the writers at a time: they share the stream.
  logic uop_ready, acc_ready, uop_takes, acc_takes, uop_done, acc_done;
  assign job_takes = uop_ready && acc_ready && may_write;
  assign stream_ready = uop_takes || acc_takes;
  assign done = uop_done || acc_done;

  uop_writer #(.LOG_DEPTH(LOG_UOP)) write_uops (
    .clk, .reset,
    .start_valid(job_valid && job_takes && job_is_uop), .start_ready(uop_ready),
    .start_index(job_index[LOG_UOP-1:0]), .start_high(job_high), .start_count(job_x_size),
    .stream_valid, .stream_ready(uop_takes), .stream_data,
    .write(uop_write), .index(uop_index), .data(uop_data), .done(uop_done)
  );
  cell_writer #(.LOG_DEPTH(LOG_ACC), .BEAT_WIDTH(BEAT_WIDTH)) write_acc (
    .clk, .reset,
    .start_valid(job_valid && job_takes && !job_is_uop), .start_ready(acc_ready),
    .start_index(job_index[LOG_ACC-1:0]), .start_last_beat(BEAT_WIDTH'(ACC_BEATS - 1)),
    .x_size(job_x_size), .y_size(job_y_size), .pad_top(job_top), .pad_bottom(job_bottom),
    .pad_left(job_left), .pad_right(job_right),
    .stream_valid, .stream_ready(acc_takes),
    .write_beat(acc_write_beat), .write_zero(acc_write_zero), .index(acc_index), .beat(acc_beat),
    .done(acc_done)
  );
  assign acc_data = stream_data;

  wire unused = &{1'b0, unused_empty, job_index};
endmodule
