// Numbers of the VTA instruction set that no configuration changes: opcodes, memories, operations
// of the ALU. Fields whose place depends on the buffers' depths are cut out in decode.sv.
package vta_isa;
  localparam logic [2:0] OPCODE_LOAD = 3'd0;
  localparam logic [2:0] OPCODE_STORE = 3'd1;
  localparam logic [2:0] OPCODE_GEMM = 3'd2;
  localparam logic [2:0] OPCODE_FINISH = 3'd3;
  localparam logic [2:0] OPCODE_ALU = 3'd4;

  localparam logic [2:0] MEMORY_UOP = 3'd0;
  localparam logic [2:0] MEMORY_WGT = 3'd1;
  localparam logic [2:0] MEMORY_INP = 3'd2;
  localparam logic [2:0] MEMORY_ACC = 3'd3;

  localparam logic [2:0] ALU_MIN = 3'd0;
  localparam logic [2:0] ALU_MAX = 3'd1;
  localparam logic [2:0] ALU_ADD = 3'd2;
  localparam logic [2:0] ALU_SHR = 3'd3;
endpackage
