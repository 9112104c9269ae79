// Reads rows of DRAM into a stream of 64-bit beats. It asks only for what its buffer has room for,
// so it takes every beat that comes: no client can hold up the data of another.
// The buffer's depth is thus what may be under way: latency x bandwidth, to read at full rate.
module read_client #(
  parameter int ADDRESS_WIDTH = 32,
  parameter int ROW_WIDTH = 32,
  parameter int COUNT_WIDTH = 16,
  parameter int MAX_BEATS = 16,
  parameter int LOG_BUFFER = 7      // beats, at least MAX_BEATS
) (
  input  logic                     clk,
  input  logic                     reset,
  // What to read: rows of bytes, none of them empty. Streams follow each other in this order.
  input  logic                     start_valid,
  output logic                     start_ready,
  input  logic [ADDRESS_WIDTH-1:0] start_address,
  input  logic [ROW_WIDTH-1:0]     start_row_bytes,
  input  logic [COUNT_WIDTH-1:0]   start_rows,
  input  logic [ADDRESS_WIDTH-1:0] start_stride,
  output logic                     request_valid,
  input  logic                     request_ready,
  output logic [ADDRESS_WIDTH-1:0] request_address,
  output logic [8:0]               request_beats,
  input  logic                     beat_valid,
  input  logic [63:0]              beat_data,
  output logic                     stream_valid,
  input  logic                     stream_ready,
  output logic [63:0]              stream_data
);
  logic [LOG_BUFFER:0] room;  // places of the buffer that nothing is to come for
  logic burst_valid, requested, taken, buffer_ready;

  assign request_valid = burst_valid && room >= (LOG_BUFFER + 1)'(request_beats);
  assign requested = request_valid && request_ready;
  assign taken = stream_valid && stream_ready;

  burst_splitter #(
    .ADDRESS_WIDTH(ADDRESS_WIDTH), .ROW_WIDTH(ROW_WIDTH), .COUNT_WIDTH(COUNT_WIDTH),
    .MAX_BEATS(MAX_BEATS)
  ) splitter (
    .clk, .reset,
    .start_valid, .start_ready, .start_address, .start_row_bytes, .start_rows, .start_stride,
    .burst_valid, .burst_ready(requested), .burst_address(request_address),
    .burst_beats(request_beats)
  );

  fifo #(.WIDTH(64), .LOG_DEPTH(LOG_BUFFER)) buffer (
    .clk, .reset,
    .in_valid(beat_valid), .in_ready(buffer_ready), .in_data(beat_data),
    .out_valid(stream_valid), .out_ready(stream_ready), .out_data(stream_data)
  );

  always_ff @(posedge clk) begin
    if (reset) room <= {1'b1, {LOG_BUFFER{1'b0}}};
    else
      room <= room - (requested ? (LOG_BUFFER + 1)'(request_beats) : '0) + (LOG_BUFFER + 1)'(taken);
  end

  wire unused = &{1'b0, buffer_ready};
endmodule
