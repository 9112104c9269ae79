// Cuts rows of bytes in DRAM into AXI bursts of 64-bit beats: at most MAX_BEATS each, none over a
// 4 KiB boundary (AXI), each row from a new one. A row may begin and end inside of a beat.
module burst_splitter #(
  parameter int ADDRESS_WIDTH = 32,
  parameter int ROW_WIDTH = 32,     // of a row's bytes
  parameter int COUNT_WIDTH = 16,   // of the number of rows
  parameter int MAX_BEATS = 16      // AXI3 of the Zynq's ports allows 16
) (
  input  logic                     clk,
  input  logic                     reset,
  input  logic                     start_valid,
  output logic                     start_ready,
  input  logic [ADDRESS_WIDTH-1:0] start_address,
  input  logic [ROW_WIDTH-1:0]     start_row_bytes,   // not 0
  input  logic [COUNT_WIDTH-1:0]   start_rows,        // not 0
  input  logic [ADDRESS_WIDTH-1:0] start_stride,      // bytes
  output logic                     burst_valid,
  input  logic                     burst_ready,
  output logic [ADDRESS_WIDTH-1:0] burst_address,
  output logic [8:0]               burst_beats
);
  localparam int BEATS_WIDTH = ROW_WIDTH - 2;

  logic busy, in_row;
  logic [ADDRESS_WIDTH-1:0] row_address, stride;
  logic [ROW_WIDTH-1:0] row_bytes;
  logic [COUNT_WIDTH-1:0] rows_left;
  logic [ADDRESS_WIDTH-4:0] beat_address;  // in beats
  logic [BEATS_WIDTH-1:0] beats_left;

  // Beats that the row touches.
  logic [ROW_WIDTH:0] row_end;
  assign row_end = {1'b0, row_bytes} + (ROW_WIDTH + 1)'(row_address[2:0]) + (ROW_WIDTH + 1)'(7);

  logic [9:0] to_boundary;
  logic [8:0] room;
  assign to_boundary = 10'd512 - {1'b0, beat_address[8:0]};
  assign room = to_boundary < 10'(MAX_BEATS) ? to_boundary[8:0] : 9'(MAX_BEATS);
  assign burst_beats = beats_left < BEATS_WIDTH'(room) ? beats_left[8:0] : room;
  assign burst_address = {beat_address, 3'b000};
  assign burst_valid = in_row;
  assign start_ready = !busy;

  logic row_ends;
  assign row_ends = in_row && burst_ready && beats_left == BEATS_WIDTH'(burst_beats);

  always_ff @(posedge clk) begin
    if (reset) begin
      busy <= 1'b0;
      in_row <= 1'b0;
    end else if (!busy) begin
      busy <= start_valid;
    end else if (!in_row) begin
      in_row <= 1'b1;
    end else if (row_ends) begin
      in_row <= 1'b0;
      if (rows_left == COUNT_WIDTH'(1)) busy <= 1'b0;
    end

    if (!busy) begin
      row_address <= start_address;
      row_bytes <= start_row_bytes;
      rows_left <= start_rows;
      stride <= start_stride;
    end else if (row_ends) begin
      row_address <= row_address + stride;
      rows_left <= rows_left - 1'b1;
    end

    if (!in_row) begin
      beat_address <= row_address[ADDRESS_WIDTH-1:3];
      beats_left <= row_end[ROW_WIDTH:3];
    end else if (burst_ready) begin
      beat_address <= beat_address + (ADDRESS_WIDTH - 3)'(burst_beats);
      beats_left <= beats_left - BEATS_WIDTH'(burst_beats);
    end
  end

  wire unused = &{1'b0, row_end[2:0]};
endmodule
