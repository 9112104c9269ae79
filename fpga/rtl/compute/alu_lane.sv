// One lane of what is done to an accumulator: GEMM's sum or an operation of the ALU. Wraps around.
// Shifts go by the operand's low five bits as a signed number, to the left where it is negative.
module alu_lane #(
  parameter int WIDTH = 32
) (
  input  logic                    is_sum,     // accumulator + dot, else `operation`
  input  logic [2:0]              operation,
  input  logic signed [WIDTH-1:0] accumulator,
  input  logic signed [WIDTH-1:0] dot,
  input  logic signed [WIDTH-1:0] operand,
  output logic signed [WIDTH-1:0] result
);
  logic signed [WIDTH-1:0] added, shifted, reversed, to_shift;
  logic left, less;
  logic [4:0] distance;

  assign added = accumulator + (is_sum ? dot : operand);
  assign less = accumulator < operand;

  // One shifter to the right; to the left, the number goes through it backwards.
  assign left = operand[4];
  assign distance = left ? -operand[4:0] : operand[4:0];
  always_comb begin
    for (int i = 0; i < WIDTH; i++) reversed[i] = accumulator[WIDTH-1-i];
  end
  assign to_shift = left ? reversed : accumulator;
  logic signed [WIDTH:0] shifted_right;
  logic signed [WIDTH-1:0] shifted_back;
  assign shifted_right = $signed({!left && accumulator[WIDTH-1], to_shift}) >>> distance;
  always_comb begin
    for (int i = 0; i < WIDTH; i++) shifted_back[i] = shifted_right[WIDTH-1-i];
  end
  assign shifted = left ? shifted_back : shifted_right[WIDTH-1:0];

  always_comb begin
    result = added;
    if (!is_sum) begin
      case (operation)
        vta_isa::ALU_MIN: result = less ? accumulator : operand;
        vta_isa::ALU_MAX: result = less ? operand : accumulator;
        vta_isa::ALU_SHR: result = shifted;
        default: result = added;
      endcase
    end
  end

  wire unused = &{1'b0, shifted_right[WIDTH]};
endmodule
