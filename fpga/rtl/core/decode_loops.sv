// Fields of GEMM and ALU. Their places follow from the depths of the buffers that they index.
module decode_loops #(
  parameter int LOG_UOP = 13,
  parameter int LOG_INP = 11,
  parameter int LOG_WGT = 10,
  parameter int LOG_ACC = 11,
  parameter int LOG_SRC = 11   // the greater of INP's and ACC's
) (
  input  logic [127:0]       instruction,
  input  logic               is_alu,
  output logic               reset_accumulator,
  output logic [LOG_UOP-1:0] uop_begin,
  output logic [LOG_UOP:0]   uop_end,        // exclusive
  output logic [13:0]        iter_out,
  output logic [13:0]        iter_in,
  output logic [LOG_ACC-1:0] dst_factor_out,
  output logic [LOG_ACC-1:0] dst_factor_in,
  output logic [LOG_SRC-1:0] src_factor_out,  // of INP for GEMM, of ACC for ALU
  output logic [LOG_SRC-1:0] src_factor_in,
  output logic [LOG_WGT-1:0] wgt_factor_out,
  output logic [LOG_WGT-1:0] wgt_factor_in,
  output logic [2:0]         alu_operation,
  output logic               use_immediate,
  output logic [15:0]        immediate       // signed
);
  localparam int END = 8 + LOG_UOP;
  localparam int OUT = END + LOG_UOP + 1;
  localparam int DST = 64;
  localparam int SRC = DST + 2 * LOG_ACC;
  localparam int WGT = SRC + 2 * LOG_INP;
  localparam int OPERATION = SRC + 2 * LOG_ACC;

  assign reset_accumulator = instruction[7];
  assign uop_begin = instruction[8+:LOG_UOP];
  assign uop_end = instruction[END+:LOG_UOP+1];
  assign iter_out = instruction[OUT+:14];
  assign iter_in = instruction[OUT+14+:14];
  assign dst_factor_out = instruction[DST+:LOG_ACC];
  assign dst_factor_in = instruction[DST+LOG_ACC+:LOG_ACC];
  assign src_factor_out = is_alu ? LOG_SRC'(instruction[SRC+:LOG_ACC])
                                 : LOG_SRC'(instruction[SRC+:LOG_INP]);
  assign src_factor_in = is_alu ? LOG_SRC'(instruction[SRC+LOG_ACC+:LOG_ACC])
                                : LOG_SRC'(instruction[SRC+LOG_INP+:LOG_INP]);
  assign wgt_factor_out = instruction[WGT+:LOG_WGT];
  assign wgt_factor_in = instruction[WGT+LOG_WGT+:LOG_WGT];
  assign alu_operation = instruction[OPERATION+:3];
  assign use_immediate = instruction[OPERATION+3];
  assign immediate = instruction[OPERATION+4+:16];

  wire unused = &{1'b0, instruction};
endmodule
