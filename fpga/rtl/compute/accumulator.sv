// ACC and OUT, and the steps that change them: read, compute, write. A step's address comes in one
// cycle, its dot product or the rest in the next; one cycle later it is written. A step sees what
// every step before it wrote: the two that the memory does not show yet are forwarded.
module accumulator #(
  parameter int LANES = 16,
  parameter int WIDTH = 32,           // of a lane
  parameter int OUT_WIDTH = 8,
  parameter int SUM_WIDTH = 20,       // of a dot product
  parameter int LOG_ACC = 11,
  parameter int BEAT_WIDTH = 8
) (
  input  logic                       clk,
  input  logic                       reset,
  // The step, a cycle ahead.
  input  logic [LOG_ACC-1:0]         read_index,
  // The step.
  input  logic                       valid,
  input  logic                       reads_source,  // only keeps what it read as the next's operand
  input  logic                       is_sum,
  input  logic                       is_zero,
  input  logic [2:0]                 operation,
  input  logic                       use_immediate,
  input  logic signed [15:0]         immediate,
  input  logic [LANES*SUM_WIDTH-1:0] dots,
  // From DRAM, while no step is under way: a beat or a whole element of zeros.
  input  logic                       write_beat,
  input  logic                       write_zero,
  input  logic [LOG_ACC-1:0]         load_index,
  input  logic [BEAT_WIDTH-1:0]      load_beat,
  input  logic [63:0]                load_data,
  // For store.
  input  logic                       out_read,
  input  logic [LOG_ACC-1:0]         out_index,
  output logic [LANES*OUT_WIDTH-1:0] out_data
);
  localparam int BITS = LANES * WIDTH;
  localparam int BANKS = BITS / 64;

  logic [BITS-1:0] stored, current, operand, next, result, older_result;
  logic [LOG_ACC-1:0] index, result_index, older_index;
  logic writes, older_writes;
  logic [LANES*OUT_WIDTH-1:0] out_result;

  always_ff @(posedge clk) index <= read_index;

  assign current = writes && result_index == index ? result
                   : older_writes && older_index == index ? older_result : stored;

  for (genvar i = 0; i < LANES; i++) begin : lanes
    logic signed [WIDTH-1:0] lane_result, lane_operand;
    logic signed [SUM_WIDTH-1:0] dot;
    assign dot = dots[i*SUM_WIDTH+:SUM_WIDTH];
    assign lane_operand = use_immediate ? WIDTH'(immediate) : operand[i*WIDTH+:WIDTH];
    alu_lane #(.WIDTH(WIDTH)) lane (
      .is_sum, .operation,
      .accumulator(current[i*WIDTH+:WIDTH]), .dot(WIDTH'(dot)), .operand(lane_operand),
      .result(lane_result)
    );
    assign next[i*WIDTH+:WIDTH] = is_zero ? '0 : lane_result;
    assign out_result[i*OUT_WIDTH+:OUT_WIDTH] = result[i*WIDTH+:OUT_WIDTH];
  end

  always_ff @(posedge clk) begin
    if (reset) begin
      writes <= 1'b0;
      older_writes <= 1'b0;
    end else begin
      writes <= valid && !reads_source;
      older_writes <= writes;
    end
    operand <= current;
    result <= next;
    result_index <= index;
    older_result <= result;
    older_index <= result_index;
  end

  logic [BANKS-1:0] write;
  always_comb begin
    for (int i = 0; i < BANKS; i++)
      write[i] = writes || write_zero || (write_beat && load_beat == BEAT_WIDTH'(i));
  end
  banked_ram #(.BANKS(BANKS), .BANK_WIDTH(64), .LOG_DEPTH(LOG_ACC)) acc (
    .clk, .write, .write_index(writes ? result_index : load_index),
    .write_data(writes ? result : write_zero ? '0 : {BANKS{load_data}}),
    .read(1'b1), .read_index, .read_data(stored)
  );
  ram #(.WIDTH(LANES * OUT_WIDTH), .LOG_DEPTH(LOG_ACC)) out (
    .clk, .write(writes), .write_index(result_index), .write_data(out_result),
    .read(out_read), .read_index(out_index), .read_data(out_data)
  );
endmodule
