// INP[batch][in] times the transpose of WGT[out][in]: every product of a micro-op at once, two of
// neighbouring outputs in each multiplier. Four cycles, a new micro-op each.
module gemm_array #(
  parameter int BATCH = 1,
  parameter int BLOCK_IN = 16,
  parameter int BLOCK_OUT = 16,       // even
  parameter int INPUT_WIDTH = 8,
  parameter int WEIGHT_WIDTH = 8,
  parameter int SUM_WIDTH = INPUT_WIDTH + WEIGHT_WIDTH + $clog2(BLOCK_IN)
) (
  input  logic                                       clk,
  input  logic [BATCH*BLOCK_IN*INPUT_WIDTH-1:0]      inputs,
  input  logic [BLOCK_OUT*BLOCK_IN*WEIGHT_WIDTH-1:0] weights,
  output logic [BATCH*BLOCK_OUT*SUM_WIDTH-1:0]       dots
);
  localparam int ROW = BLOCK_IN * WEIGHT_WIDTH;

  for (genvar b = 0; b < BATCH; b++) begin : rows
    for (genvar o = 0; o < BLOCK_OUT; o += 2) begin : pairs
      dot_pair #(.TERMS(BLOCK_IN), .INPUT_WIDTH(INPUT_WIDTH), .WEIGHT_WIDTH(WEIGHT_WIDTH)) pair (
        .clk,
        .inputs(inputs[b*BLOCK_IN*INPUT_WIDTH+:BLOCK_IN*INPUT_WIDTH]),
        .low_weights(weights[o*ROW+:ROW]),
        .high_weights(weights[(o+1)*ROW+:ROW]),
        .low(dots[(b*BLOCK_OUT+o)*SUM_WIDTH+:SUM_WIDTH]),
        .high(dots[(b*BLOCK_OUT+o+1)*SUM_WIDTH+:SUM_WIDTH])
      );
    end
  end
endmodule
