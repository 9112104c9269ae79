// Writes what a LOAD brings into a memory, element by element in its order: rows of padding above
// and below, elements of padding left and right, all zero, and the data in between as it streams
// in. An element of padding takes one cycle, one of data as many as it has beats.
module cell_writer #(
  parameter int LOG_DEPTH = 16,
  parameter int BEAT_WIDTH = 5
) (
  input  logic                  clk,
  input  logic                  reset,
  input  logic                  start_valid,
  output logic                  start_ready,
  input  logic [LOG_DEPTH-1:0]  start_index,
  input  logic [BEAT_WIDTH-1:0] start_last_beat,  // beats of an element - 1
  input  logic [15:0]           x_size,           // neither is 0
  input  logic [15:0]           y_size,
  input  logic [3:0]            pad_top,
  input  logic [3:0]            pad_bottom,
  input  logic [3:0]            pad_left,
  input  logic [3:0]            pad_right,
  input  logic                  stream_valid,
  output logic                  stream_ready,
  output logic                  write_beat,       // the stream's beat goes to `index`, `beat`
  output logic                  write_zero,       // the whole element at `index` becomes 0
  output logic [LOG_DEPTH-1:0]  index,
  output logic [BEAT_WIDTH-1:0] beat,
  output logic                  done              // with the last write
);
  logic busy;
  logic [16:0] column, data_columns_end, last_column, row, data_rows_end, last_row;
  logic [3:0] left, top;
  logic [BEAT_WIDTH-1:0] last_beat;
  logic in_data, next_cell, row_ends;

  assign start_ready = !busy;
  assign in_data = row >= 17'(top) && row < data_rows_end && column >= 17'(left) &&
                   column < data_columns_end;
  assign stream_ready = busy && in_data;
  assign write_beat = stream_ready && stream_valid;
  assign write_zero = busy && !in_data;
  assign next_cell = write_zero || (write_beat && beat == last_beat);
  assign row_ends = next_cell && column == last_column;
  assign done = row_ends && row == last_row;

  always_ff @(posedge clk) begin
    if (reset) busy <= 1'b0;
    else if (!busy) busy <= start_valid;
    else if (done) busy <= 1'b0;

    if (!busy) begin
      index <= start_index;
      beat <= '0;
      last_beat <= start_last_beat;
      column <= '0;
      row <= '0;
      left <= pad_left;
      top <= pad_top;
      data_columns_end <= 17'(pad_left) + 17'(x_size);
      data_rows_end <= 17'(pad_top) + 17'(y_size);
      last_column <= 17'(pad_left) + 17'(x_size) + 17'(pad_right) - 17'd1;
      last_row <= 17'(pad_top) + 17'(y_size) + 17'(pad_bottom) - 17'd1;
    end else begin
      if (write_beat) beat <= next_cell ? '0 : beat + 1'b1;
      if (next_cell) begin
        index <= index + 1'b1;
        column <= row_ends ? '0 : column + 1'b1;
        if (row_ends) row <= row + 1'b1;
      end
    end
  end
endmodule
