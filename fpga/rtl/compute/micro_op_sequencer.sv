// The loops of GEMM and ALU: one micro-op a cycle, or two cycles for one that reads two operands
// (`two_reads`): in the first, which `reads_source` marks, its source is read. Instructions follow
// each other without a gap. One that computes nothing (`empty`, or loops without iterations)
// gives one step that is not `active`, so that every instruction has a `last` step.
module micro_op_sequencer #(
  parameter int LOG_UOP = 13,
  parameter int LOG_ACC = 11,
  parameter int LOG_SRC = 11,
  parameter int LOG_WGT = 10
) (
  input  logic               clk,
  input  logic               reset,
  input  logic               start_valid,
  output logic               start_ready,
  input  logic               empty,
  input  logic               two_reads,
  input  logic [LOG_UOP-1:0] uop_begin,
  input  logic [LOG_UOP:0]   uop_end,
  input  logic [13:0]        iter_out,
  input  logic [13:0]        iter_in,
  input  logic [LOG_ACC-1:0] dst_factor_out,
  input  logic [LOG_ACC-1:0] dst_factor_in,
  input  logic [LOG_SRC-1:0] src_factor_out,
  input  logic [LOG_SRC-1:0] src_factor_in,
  input  logic [LOG_WGT-1:0] wgt_factor_out,
  input  logic [LOG_WGT-1:0] wgt_factor_in,
  output logic               step,          // a step is shown
  output logic               active,
  output logic               reads_source,
  output logic               last,
  output logic [LOG_UOP-1:0] uop_index,
  output logic [LOG_ACC-1:0] dst_offset,    // to add to the micro-op's own indices
  output logic [LOG_SRC-1:0] src_offset,
  output logic [LOG_WGT-1:0] wgt_offset
);
  logic two, second;
  logic [LOG_UOP-1:0] first_uop, last_uop;
  logic [13:0] inner, last_inner, outer_left;
  logic [LOG_ACC-1:0] dst_out, dst_in, dst_outer;
  logic [LOG_SRC-1:0] src_out, src_in, src_outer;
  logic [LOG_WGT-1:0] wgt_out, wgt_in, wgt_outer;
  logic none, uops_end, inner_ends, moves;

  assign none = empty || iter_out == '0 || iter_in == '0 || {1'b0, uop_begin} >= uop_end;
  assign reads_source = active && two && !second;
  assign moves = step && !reads_source;
  assign uops_end = uop_index == last_uop;
  assign inner_ends = inner == last_inner;
  assign last = moves && (!active || (uops_end && inner_ends && outer_left == 14'd1));
  assign start_ready = !step || last;

  always_ff @(posedge clk) begin
    if (reset) step <= 1'b0;
    else if (start_ready) step <= start_valid;

    if (start_ready) begin
      active <= !none;
      two <= two_reads;
      second <= 1'b0;
      first_uop <= uop_begin;
      last_uop <= LOG_UOP'(uop_end - 1'b1);
      uop_index <= uop_begin;
      inner <= '0;
      last_inner <= iter_in - 1'b1;
      outer_left <= iter_out;
      dst_out <= dst_factor_out;
      dst_in <= dst_factor_in;
      src_out <= src_factor_out;
      src_in <= src_factor_in;
      wgt_out <= wgt_factor_out;
      wgt_in <= wgt_factor_in;
      dst_offset <= '0;
      src_offset <= '0;
      wgt_offset <= '0;
      dst_outer <= '0;
      src_outer <= '0;
      wgt_outer <= '0;
    end else if (!moves) begin
      second <= 1'b1;
    end else begin
      second <= 1'b0;
      uop_index <= uops_end ? first_uop : uop_index + 1'b1;
      if (uops_end) begin
        inner <= inner_ends ? '0 : inner + 1'b1;
        dst_offset <= inner_ends ? dst_outer + dst_out : dst_offset + dst_in;
        src_offset <= inner_ends ? src_outer + src_out : src_offset + src_in;
        wgt_offset <= inner_ends ? wgt_outer + wgt_out : wgt_offset + wgt_in;
        if (inner_ends) begin
          outer_left <= outer_left - 1'b1;
          dst_outer <= dst_outer + dst_out;
          src_outer <= src_outer + src_out;
          wgt_outer <= wgt_outer + wgt_out;
        end
      end
    end
  end
endmodule
