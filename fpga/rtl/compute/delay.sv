// The input, CYCLES later.
module delay #(
  parameter int WIDTH = 1,
  parameter int CYCLES = 1
) (
  input  logic             clk,
  input  logic [WIDTH-1:0] in,
  output logic [WIDTH-1:0] out
);
  logic [WIDTH*CYCLES-1:0] stages;
  if (CYCLES == 1) begin : one
    always_ff @(posedge clk) stages <= in;
  end else begin : more
    always_ff @(posedge clk) stages <= {stages[WIDTH*(CYCLES-1)-1:0], in};
  end
  assign out = stages[WIDTH*(CYCLES-1)+:WIDTH];
endmodule
