// First-in first-out buffer that shows its head without a read cycle.
// Shallow ones only: the storage is read combinationally, so it becomes LUT RAM.
module fifo #(
  parameter int WIDTH = 8,
  parameter int LOG_DEPTH = 4
) (
  input  logic             clk,
  input  logic             reset,
  input  logic             in_valid,
  output logic             in_ready,
  input  logic [WIDTH-1:0] in_data,
  output logic             out_valid,
  input  logic             out_ready,
  output logic [WIDTH-1:0] out_data
);
  // One bit more than an index: full and empty differ in it alone.
  logic [LOG_DEPTH:0] head, tail;
  logic [WIDTH-1:0] storage[1<<LOG_DEPTH];

  assign in_ready = (tail ^ head) != {1'b1, {LOG_DEPTH{1'b0}}};
  assign out_valid = tail != head;
  assign out_data = storage[head[LOG_DEPTH-1:0]];

  always_ff @(posedge clk) begin
    if (in_valid && in_ready) storage[tail[LOG_DEPTH-1:0]] <= in_data;
    if (reset) begin
      head <= '0;
      tail <= '0;
    end else begin
      if (in_valid && in_ready) tail <= tail + 1'b1;
      if (out_valid && out_ready) head <= head + 1'b1;
    end
  end
endmodule
