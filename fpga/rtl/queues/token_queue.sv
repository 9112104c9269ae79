// Tokens from one unit to another. They carry no data, so the queue is two counts: places that
// were claimed when an instruction began, and tokens that were pushed when it ended.
// A sender claims before it pushes, and pushes exactly what it claimed: a push is never refused.
module token_queue #(
  parameter int DEPTH = 1024
) (
  input  logic clk,
  input  logic reset,
  output logic claim_ready,  // a place is free
  input  logic claim,        // only with claim_ready
  input  logic push,         // only for a claimed place
  output logic pop_valid,    // a token is there
  input  logic pop           // only with pop_valid
);
  localparam int WIDTH = $clog2(DEPTH + 1);
  logic [WIDTH-1:0] claimed, tokens;

  assign claim_ready = claimed != WIDTH'(DEPTH);
  assign pop_valid = tokens != '0;

  always_ff @(posedge clk) begin
    if (reset) begin
      claimed <= '0;
      tokens <= '0;
    end else begin
      claimed <= claimed + WIDTH'(claim) - WIDTH'(pop);
      tokens <= tokens + WIDTH'(push) - WIDTH'(pop);
    end
  end
endmodule
