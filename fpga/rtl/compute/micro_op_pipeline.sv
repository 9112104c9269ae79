// Steps of GEMM and ALU on their way: the micro-op is read, its indices added up, its operands
// read and multiplied, its accumulator changed. A step a cycle, none waits. Cycles, from the one in
// which the sequencer shows a step:
//   0 UOP is read   1 indices   2 INP and WGT are read   3..6 products and sums (gemm_array)
//   6 ACC is read   7 sum or operation   8 ACC and OUT are written
module micro_op_pipeline #(
  parameter int BATCH = 1,
  parameter int BLOCK_IN = 16,
  parameter int BLOCK_OUT = 16,
  parameter int INPUT_WIDTH = 8,
  parameter int WEIGHT_WIDTH = 8,
  parameter int ACC_WIDTH = 32,
  parameter int OUT_WIDTH = 8,
  parameter int LOG_INP = 11,
  parameter int LOG_WGT = 10,
  parameter int LOG_ACC = 11,
  parameter int LOG_SRC = 11,
  parameter int TAG_WIDTH = 3,
  parameter int BEAT_WIDTH = 8
) (
  input  logic                    clk,
  input  logic                    reset,
  // Cycle 0.
  input  logic                    step,
  input  logic                    active,
  input  logic                    reads_source,
  input  logic                    last,
  input  logic                    is_sum,
  input  logic                    is_zero,
  input  logic [2:0]              operation,
  input  logic                    use_immediate,
  input  logic [15:0]             immediate,
  input  logic [TAG_WIDTH-1:0]    tag,
  input  logic [LOG_ACC-1:0]      dst_offset,
  input  logic [LOG_SRC-1:0]      src_offset,
  input  logic [LOG_WGT-1:0]      wgt_offset,
  // Cycle 1.
  input  logic [31:0]             uop,
  // Cycle 2, and 3.
  output logic [LOG_INP-1:0]      inp_index,
  input  logic [BATCH*BLOCK_IN*INPUT_WIDTH-1:0] inp_data,
  output logic [LOG_WGT-1:0]      wgt_index,
  input  logic [BLOCK_OUT*BLOCK_IN*WEIGHT_WIDTH-1:0] wgt_data,
  // Cycle 8: the last step of an instruction, with its tag.
  output logic                    retire,
  output logic [TAG_WIDTH-1:0]    retire_tag,
  // ACC from DRAM and OUT for store, see accumulator.sv.
  input  logic                    acc_write_beat,
  input  logic                    acc_write_zero,
  input  logic [LOG_ACC-1:0]      acc_load_index,
  input  logic [BEAT_WIDTH-1:0]   acc_beat,
  input  logic [63:0]             acc_data,
  input  logic                    out_read,
  input  logic [LOG_ACC-1:0]      out_index,
  output logic [BATCH*BLOCK_OUT*OUT_WIDTH-1:0] out_data
);
  localparam int SUM_WIDTH = INPUT_WIDTH + WEIGHT_WIDTH + $clog2(BLOCK_IN);
  localparam int LANES = BATCH * BLOCK_OUT;

  // Only these two say that a step is there at all, so only they are reset.
  logic [8:1] active_at, last_at;
  always_ff @(posedge clk) begin
    if (reset) begin
      active_at <= '0;
      last_at <= '0;
    end else begin
      active_at <= {active_at[7:1], step && active};
      last_at <= {last_at[7:1], last};
    end
  end
  assign retire = last_at[8];
  delay #(.WIDTH(TAG_WIDTH), .CYCLES(8)) tags (.clk, .in(tag), .out(retire_tag));

  // Cycle 1: an index is the micro-op's own and the loops' offset.
  logic reads_source_1;
  logic [LOG_ACC-1:0] dst_offset_1;
  logic [LOG_SRC-1:0] src_offset_1;
  logic [LOG_WGT-1:0] wgt_offset_1;
  always_ff @(posedge clk) begin
    reads_source_1 <= reads_source;
    dst_offset_1 <= dst_offset;
    src_offset_1 <= src_offset;
    wgt_offset_1 <= wgt_offset;
  end

  // Cycle 2.
  logic [LOG_ACC-1:0] acc_index_2;
  logic [LOG_SRC-1:0] src_1;
  assign src_1 = uop[LOG_ACC+:LOG_SRC] + src_offset_1;
  always_ff @(posedge clk) begin
    acc_index_2 <= reads_source_1 ? src_1[LOG_ACC-1:0] : uop[LOG_ACC-1:0] + dst_offset_1;
    inp_index <= src_1[LOG_INP-1:0];
    wgt_index <= uop[LOG_ACC+LOG_SRC+:LOG_WGT] + wgt_offset_1;
  end

  // Cycles 3 to 6.
  logic [LANES*SUM_WIDTH-1:0] dots_7;
  gemm_array #(
    .BATCH(BATCH), .BLOCK_IN(BLOCK_IN), .BLOCK_OUT(BLOCK_OUT), .INPUT_WIDTH(INPUT_WIDTH),
    .WEIGHT_WIDTH(WEIGHT_WIDTH)
  ) gemm (.clk, .inputs(inp_data), .weights(wgt_data), .dots(dots_7));

  // Cycles 6 to 8.
  logic [LOG_ACC-1:0] acc_index_6;
  logic reads_source_7, is_sum_7, is_zero_7, use_immediate_7;
  logic [2:0] operation_7;
  logic [15:0] immediate_7;
  delay #(.WIDTH(LOG_ACC), .CYCLES(4)) acc_index (.clk, .in(acc_index_2), .out(acc_index_6));
  delay #(.WIDTH(23), .CYCLES(7)) controls (
    .clk, .in({reads_source, is_sum, is_zero, operation, use_immediate, immediate}),
    .out({reads_source_7, is_sum_7, is_zero_7, operation_7, use_immediate_7, immediate_7})
  );
  accumulator #(
    .LANES(LANES), .WIDTH(ACC_WIDTH), .OUT_WIDTH(OUT_WIDTH), .SUM_WIDTH(SUM_WIDTH),
    .LOG_ACC(LOG_ACC), .BEAT_WIDTH(BEAT_WIDTH)
  ) accumulators (
    .clk, .reset, .read_index(acc_index_6),
    .valid(active_at[7]), .reads_source(reads_source_7), .is_sum(is_sum_7), .is_zero(is_zero_7),
    .operation(operation_7), .use_immediate(use_immediate_7), .immediate(immediate_7),
    .dots(dots_7),
    .write_beat(acc_write_beat), .write_zero(acc_write_zero), .load_index(acc_load_index),
    .load_beat(acc_beat), .load_data(acc_data), .out_read, .out_index, .out_data
  );

  wire unused = &{1'b0, active_at[8], uop, src_1};
endmodule
