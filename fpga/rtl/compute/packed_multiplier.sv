// Two signed products with a common factor from one multiplier: what a DSP48E1 (25 x 18 bits) does
// with two 8-bit weights and an input. The high weight stands SHIFT bits above the low one; where
// the low product is negative it borrows one from the high product, which `borrow` gives back:
// high_weight * input = high + borrow, low_weight * input = low. Two cycles.
module packed_multiplier #(
  parameter int INPUT_WIDTH = 8,
  parameter int WEIGHT_WIDTH = 8,
  parameter int PRODUCT_WIDTH = INPUT_WIDTH + WEIGHT_WIDTH
) (
  input  logic                            clk,
  input  logic signed [WEIGHT_WIDTH-1:0]  high_weight,
  input  logic signed [WEIGHT_WIDTH-1:0]  low_weight,
  input  logic signed [INPUT_WIDTH-1:0]   factor,
  output logic signed [PRODUCT_WIDTH-1:0] high,
  output logic signed [PRODUCT_WIDTH-1:0] low,
  output logic                            borrow
);
  localparam int PACKED_WIDTH = PRODUCT_WIDTH + WEIGHT_WIDTH + 1;

  logic signed [PACKED_WIDTH-1:0] packed_weights;
  logic signed [INPUT_WIDTH-1:0] held_factor;
  (* use_dsp = "yes" *)
  logic signed [PACKED_WIDTH+INPUT_WIDTH-1:0] product;

  always_ff @(posedge clk) begin
    packed_weights <= PACKED_WIDTH'($signed({high_weight, {PRODUCT_WIDTH{1'b0}}})) +
                      PACKED_WIDTH'(low_weight);
    held_factor <= factor;
    product <= packed_weights * held_factor;
  end

  assign low = product[PRODUCT_WIDTH-1:0];
  assign high = product[2*PRODUCT_WIDTH-1:PRODUCT_WIDTH];
  assign borrow = product[PRODUCT_WIDTH-1];

  wire unused = &{1'b0, product[PACKED_WIDTH+INPUT_WIDTH-1:2*PRODUCT_WIDTH]};
endmodule
