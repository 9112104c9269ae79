// The compute unit: GEMM, ALU, LOAD of UOP and ACC, FINISH. Instructions begin in order. GEMM and
// ALU follow each other without a gap; they wait for every LOAD before them. A LOAD begins to read
// DRAM while steps before it are still under way, and writes when they have ended.
module compute_stage #(
  parameter int ADDRESS_WIDTH = 32,
  parameter int MAX_BEATS = 16,
  parameter int LOG_BUFFER = 7,
  parameter int BATCH = 1,
  parameter int BLOCK_IN = 16,
  parameter int BLOCK_OUT = 16,
  parameter int INPUT_WIDTH = 8,
  parameter int WEIGHT_WIDTH = 8,
  parameter int ACC_WIDTH = 32,
  parameter int OUT_WIDTH = 8,
  parameter int LOG_UOP = 13,
  parameter int LOG_INP = 11,
  parameter int LOG_WGT = 10,
  parameter int LOG_ACC = 11
) (
  input  logic                     clk,
  input  logic                     reset,
  input  logic                     instruction_valid,
  output logic                     instruction_ready,
  input  logic [127:0]             instruction,
  input  logic [ADDRESS_WIDTH-1:0] uop_base,
  input  logic [ADDRESS_WIDTH-1:0] acc_base,
  output logic                     finish,              // for a cycle
  output logic                     unknown_instruction, // for a cycle
  // Tokens: from and to load, from and to store.
  input  logic                     loaded_valid,
  output logic                     loaded_pop,
  input  logic                     stored_valid,
  output logic                     stored_pop,
  input  logic                     free_claim_ready,
  output logic                     free_claim,
  output logic                     free_push,
  input  logic                     computed_claim_ready,
  output logic                     computed_claim,
  output logic                     computed_push,
  output logic                     request_valid,
  input  logic                     request_ready,
  output logic [ADDRESS_WIDTH-1:0] request_address,
  output logic [8:0]               request_beats,
  input  logic                     beat_valid,
  input  logic [63:0]              beat_data,
  output logic [LOG_INP-1:0]       inp_index,
  input  logic [BATCH*BLOCK_IN*INPUT_WIDTH-1:0] inp_data,
  output logic [LOG_WGT-1:0]       wgt_index,
  input  logic [BLOCK_OUT*BLOCK_IN*WEIGHT_WIDTH-1:0] wgt_data,
  input  logic                     out_read,
  input  logic [LOG_ACC-1:0]       out_index,
  output logic [BATCH*BLOCK_OUT*OUT_WIDTH-1:0] out_data
);
  localparam int LOG_ACC_BYTES = $clog2(BATCH * BLOCK_OUT * ACC_WIDTH / 8);
  localparam int LOG_SRC = LOG_INP > LOG_ACC ? LOG_INP : LOG_ACC;
  localparam int BEAT_WIDTH = 8;
  localparam int COUNT_WIDTH = 6;  // of steps and loads under way: more than the pipeline holds

  // What stands at the head of the queue.
  logic [2:0] opcode;
  logic is_load, is_gemm, is_alu, is_finish, tokens_there, begins, begins_load, begins_steps;
  logic loader_ready, sequencer_ready, load_done, retire, retire_free, retire_computed, retire_finish;
  logic [COUNT_WIDTH-1:0] steps_under_way, loads_under_way;

  assign opcode = instruction[2:0];
  assign is_load = opcode == vta_isa::OPCODE_LOAD && instruction[95:80] != '0 &&
                   instruction[79:64] != '0;
  assign is_gemm = opcode == vta_isa::OPCODE_GEMM;
  assign is_alu = opcode == vta_isa::OPCODE_ALU;
  assign is_finish = opcode == vta_isa::OPCODE_FINISH;
  assign tokens_there = (!instruction[3] || loaded_valid) && (!instruction[4] || stored_valid) &&
                        (!instruction[5] || free_claim_ready) &&
                        (!instruction[6] || computed_claim_ready);
  assign instruction_ready = tokens_there && (is_load ? loader_ready && !(&loads_under_way)
                             : sequencer_ready && loads_under_way == '0 && !(&steps_under_way));
  assign begins = instruction_valid && instruction_ready;
  assign begins_load = begins && is_load;
  assign begins_steps = begins && !is_load;
  assign loaded_pop = begins && instruction[3];
  assign stored_pop = begins && instruction[4];
  assign free_claim = begins && instruction[5];
  assign computed_claim = begins && instruction[6];
  assign unknown_instruction = begins && opcode > vta_isa::OPCODE_ALU;

  always_ff @(posedge clk) begin
    if (reset) begin
      steps_under_way <= '0;
      loads_under_way <= '0;
    end else begin
      steps_under_way <= steps_under_way + COUNT_WIDTH'(begins_steps) - COUNT_WIDTH'(retire);
      loads_under_way <= loads_under_way + COUNT_WIDTH'(begins_load) - COUNT_WIDTH'(load_done);
    end
  end

  // Tokens of loads wait here: pushed with their last write.
  logic load_free, load_computed, load_tokens_ready, load_tokens_valid;
  fifo #(.WIDTH(2), .LOG_DEPTH(2)) load_tokens (
    .clk, .reset,
    .in_valid(begins_load), .in_ready(load_tokens_ready), .in_data(instruction[6:5]),
    .out_valid(load_tokens_valid), .out_ready(load_done), .out_data({load_computed, load_free})
  );
  assign free_push = (load_done && load_free) || (retire && retire_free);
  assign computed_push = (load_done && load_computed) || (retire && retire_computed);
  assign finish = retire && retire_finish;

  logic [1:0] uop_write;
  logic [LOG_UOP-1:0] uop_write_index, uop_index;
  logic [63:0] uop_write_data, acc_data;
  logic acc_write_beat, acc_write_zero;
  logic [LOG_ACC-1:0] acc_index;
  logic [BEAT_WIDTH-1:0] acc_beat;
  compute_loader #(
    .ADDRESS_WIDTH(ADDRESS_WIDTH), .MAX_BEATS(MAX_BEATS), .LOG_BUFFER(LOG_BUFFER),
    .LOG_UOP(LOG_UOP), .LOG_ACC(LOG_ACC), .LOG_ACC_BYTES(LOG_ACC_BYTES), .BEAT_WIDTH(BEAT_WIDTH)
  ) loader (
    .clk, .reset,
    .start_valid(begins_load), .start_ready(loader_ready), .instruction, .uop_base, .acc_base,
    .may_write(steps_under_way == '0), .done(load_done),
    .request_valid, .request_ready, .request_address, .request_beats, .beat_valid, .beat_data,
    .uop_write, .uop_index(uop_write_index), .uop_data(uop_write_data),
    .acc_write_beat, .acc_write_zero, .acc_index, .acc_beat, .acc_data
  );

  logic [31:0] uop;
  uop_memory #(.LOG_DEPTH(LOG_UOP)) uops (
    .clk, .write(uop_write), .write_index(uop_write_index), .write_data(uop_write_data),
    .read_index(uop_index), .read_data(uop)
  );

  // The instruction whose steps are shown.
  logic reset_accumulator, use_immediate, gemm_now, zero_now, immediate_now;
  logic [LOG_UOP-1:0] uop_begin;
  logic [LOG_UOP:0] uop_end;
  logic [13:0] iter_out, iter_in;
  logic [LOG_ACC-1:0] dst_factor_out, dst_factor_in, dst_offset;
  logic [LOG_SRC-1:0] src_factor_out, src_factor_in, src_offset;
  logic [LOG_WGT-1:0] wgt_factor_out, wgt_factor_in, wgt_offset;
  logic [2:0] operation, operation_now, tag_now;
  logic [15:0] immediate, value_now;
  decode_loops #(
    .LOG_UOP(LOG_UOP), .LOG_INP(LOG_INP), .LOG_WGT(LOG_WGT), .LOG_ACC(LOG_ACC), .LOG_SRC(LOG_SRC)
  ) decode (
    .instruction, .is_alu, .reset_accumulator, .uop_begin, .uop_end, .iter_out, .iter_in,
    .dst_factor_out, .dst_factor_in, .src_factor_out, .src_factor_in, .wgt_factor_out,
    .wgt_factor_in, .alu_operation(operation), .use_immediate, .immediate
  );
  always_ff @(posedge clk) begin
    if (begins_steps) begin
      gemm_now <= is_gemm;
      zero_now <= is_gemm && reset_accumulator;
      operation_now <= operation;
      immediate_now <= use_immediate;
      value_now <= immediate;
      tag_now <= {is_finish, instruction[6], instruction[5]};
    end
  end

  logic step, active, reads_source, last;
  micro_op_sequencer #(
    .LOG_UOP(LOG_UOP), .LOG_ACC(LOG_ACC), .LOG_SRC(LOG_SRC), .LOG_WGT(LOG_WGT)
  ) sequencer (
    .clk, .reset,
    .start_valid(begins_steps), .start_ready(sequencer_ready), .empty(!is_gemm && !is_alu),
    .two_reads(is_alu && !use_immediate), .uop_begin, .uop_end, .iter_out, .iter_in,
    .dst_factor_out, .dst_factor_in, .src_factor_out, .src_factor_in, .wgt_factor_out,
    .wgt_factor_in,
    .step, .active, .reads_source, .last, .uop_index, .dst_offset, .src_offset, .wgt_offset
  );

  micro_op_pipeline #(
    .BATCH(BATCH), .BLOCK_IN(BLOCK_IN), .BLOCK_OUT(BLOCK_OUT), .INPUT_WIDTH(INPUT_WIDTH),
    .WEIGHT_WIDTH(WEIGHT_WIDTH), .ACC_WIDTH(ACC_WIDTH), .OUT_WIDTH(OUT_WIDTH), .LOG_INP(LOG_INP),
    .LOG_WGT(LOG_WGT), .LOG_ACC(LOG_ACC), .LOG_SRC(LOG_SRC), .BEAT_WIDTH(BEAT_WIDTH)
  ) pipeline (
    .clk, .reset,
    .step, .active, .reads_source, .last, .is_sum(gemm_now), .is_zero(zero_now),
    .operation(operation_now), .use_immediate(immediate_now), .immediate(value_now),
    .tag(tag_now), .dst_offset, .src_offset, .wgt_offset,
    .uop, .inp_index, .inp_data, .wgt_index, .wgt_data,
    .retire, .retire_tag({retire_finish, retire_computed, retire_free}),
    .acc_write_beat, .acc_write_zero, .acc_load_index(acc_index), .acc_beat, .acc_data,
    .out_read, .out_index, .out_data
  );

  wire unused = &{1'b0, load_tokens_ready, load_tokens_valid};
endmodule
