// Two dot products with common inputs: two outputs of the GEMM. Four cycles.
module dot_pair #(
  parameter int TERMS = 16,
  parameter int INPUT_WIDTH = 8,
  parameter int WEIGHT_WIDTH = 8,
  parameter int SUM_WIDTH = INPUT_WIDTH + WEIGHT_WIDTH + $clog2(TERMS)
) (
  input  logic                          clk,
  input  logic [TERMS*INPUT_WIDTH-1:0]  inputs,
  input  logic [TERMS*WEIGHT_WIDTH-1:0] high_weights,
  input  logic [TERMS*WEIGHT_WIDTH-1:0] low_weights,
  output logic signed [SUM_WIDTH-1:0]   high,
  output logic signed [SUM_WIDTH-1:0]   low
);
  localparam int PRODUCT_WIDTH = INPUT_WIDTH + WEIGHT_WIDTH;

  logic [TERMS*PRODUCT_WIDTH-1:0] high_products, low_products;
  logic [TERMS-1:0] borrows;

  for (genvar i = 0; i < TERMS; i++) begin : terms
    packed_multiplier #(.INPUT_WIDTH(INPUT_WIDTH), .WEIGHT_WIDTH(WEIGHT_WIDTH)) multiplier (
      .clk,
      .high_weight(high_weights[i*WEIGHT_WIDTH+:WEIGHT_WIDTH]),
      .low_weight(low_weights[i*WEIGHT_WIDTH+:WEIGHT_WIDTH]),
      .factor(inputs[i*INPUT_WIDTH+:INPUT_WIDTH]),
      .high(high_products[i*PRODUCT_WIDTH+:PRODUCT_WIDTH]),
      .low(low_products[i*PRODUCT_WIDTH+:PRODUCT_WIDTH]),
      .borrow(borrows[i])
    );
  end

  sum #(.TERMS(TERMS), .WIDTH(PRODUCT_WIDTH)) high_sum (
    .clk, .terms(high_products), .ones(borrows), .total(high)
  );
  sum #(.TERMS(TERMS), .WIDTH(PRODUCT_WIDTH)) low_sum (
    .clk, .terms(low_products), .ones('0), .total(low)
  );
endmodule
