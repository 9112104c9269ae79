// Proof about token_queue: whatever sender and receiver do, as long as the sender pushes only what
// it claimed and the receiver pops only what is shown, no token is lost, made or refused, and never
// are there more than DEPTH.
module token_queue_proof #(
  parameter int DEPTH = 5
) (
  input logic clk,
  input logic claim,
  input logic push,
  input logic pop
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;

  logic claim_ready, pop_valid;
  token_queue #(.DEPTH(DEPTH)) queue (
    .clk, .reset(!started), .claim_ready, .claim, .push, .pop_valid, .pop
  );

  // Its counts: prove.sh connects them.
  logic [2:0] claimed, tokens;

  // What the two sides know.
  logic [7:0] in_work = '0, held = '0;
  always_ff @(posedge clk) begin
    if (started) begin
      in_work <= in_work + 8'(claim) - 8'(push);
      held <= held + 8'(push) - 8'(pop);
    end
  end

  always_comb begin
    assume (!claim || claim_ready);
    assume (!push || in_work != '0);
    assume (!pop || pop_valid);
    if (started) begin
      assert (8'(tokens) == held && 8'(claimed) == held + in_work);
      assert (pop_valid == (held != '0));
      assert (claim_ready == (held + in_work != 8'(DEPTH)));
      assert (held <= 8'(DEPTH) && in_work <= 8'(DEPTH) && held + in_work <= 8'(DEPTH));
    end
  end
endmodule
