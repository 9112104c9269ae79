// Writes a stream of micro-ops, two a beat. Only the first beat may begin, and only the last may
// end, in its middle: the stream is of whole beats, the micro-ops need not be.
module uop_writer #(
  parameter int LOG_DEPTH = 13
) (
  input  logic                 clk,
  input  logic                 reset,
  input  logic                 start_valid,
  output logic                 start_ready,
  input  logic [LOG_DEPTH-1:0] start_index,
  input  logic                 start_high,   // the first micro-op is a beat's high half
  input  logic [15:0]          start_count,  // not 0
  input  logic                 stream_valid,
  output logic                 stream_ready,
  input  logic [63:0]          stream_data,
  output logic [1:0]           write,        // low half of `data` to `index`, high half to the next
  output logic [LOG_DEPTH-1:0] index,
  output logic [63:0]          data,
  output logic                 done          // with the last write
);
  logic busy, high;
  logic [15:0] left;
  logic [1:0] moved;

  assign start_ready = !busy;
  assign stream_ready = busy;
  assign moved = high || left == 16'd1 ? 2'd1 : 2'd2;
  assign write = busy && stream_valid ? {moved[1], 1'b1} : 2'b00;
  assign data = {stream_data[63:32], high ? stream_data[63:32] : stream_data[31:0]};
  assign done = busy && stream_valid && left == 16'(moved);

  always_ff @(posedge clk) begin
    if (reset) busy <= 1'b0;
    else if (!busy) busy <= start_valid;
    else if (done) busy <= 1'b0;

    if (!busy) begin
      index <= start_index;
      high <= start_high;
      left <= start_count;
    end else if (stream_valid) begin
      index <= index + LOG_DEPTH'(moved);
      high <= 1'b0;
      left <= left - 16'(moved);
    end
  end
endmodule
