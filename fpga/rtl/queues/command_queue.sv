// A unit's instructions, in order. Deep, so in block RAM: its output register is the head that
// is shown, and counts as a place beside the RAM's.
module command_queue #(
  parameter int WIDTH = 128,
  parameter int LOG_DEPTH = 9
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
  logic [LOG_DEPTH:0] head, tail;
  logic refill;

  assign in_ready = (tail ^ head) != {1'b1, {LOG_DEPTH{1'b0}}};
  assign refill = tail != head && (!out_valid || out_ready);

  ram #(.WIDTH(WIDTH), .LOG_DEPTH(LOG_DEPTH)) places (
    .clk,
    .write(in_valid && in_ready), .write_index(tail[LOG_DEPTH-1:0]), .write_data(in_data),
    .read(refill), .read_index(head[LOG_DEPTH-1:0]), .read_data(out_data)
  );

  always_ff @(posedge clk) begin
    if (reset) begin
      head <= '0;
      tail <= '0;
      out_valid <= 1'b0;
    end else begin
      if (in_valid && in_ready) tail <= tail + 1'b1;
      if (refill) head <= head + 1'b1;
      if (refill) out_valid <= 1'b1;
      else if (out_ready) out_valid <= 1'b0;
    end
  end
endmodule
