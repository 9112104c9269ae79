// Fields of LOAD and STORE, and what they ask of DRAM: rows of bytes.
module decode_memory #(
  parameter int ADDRESS_WIDTH = 32
) (
  input  logic [127:0]             instruction,
  input  logic [ADDRESS_WIDTH-1:0] base,           // bytes, added to the instruction's address
  input  logic [3:0]               log_bytes,      // of the memory's elements
  output logic                     empty,          // moves nothing, only tokens
  output logic [15:0]              sram_base,
  output logic [15:0]              x_size,
  output logic [15:0]              y_size,
  output logic [3:0]               pad_top,
  output logic [3:0]               pad_bottom,
  output logic [3:0]               pad_left,
  output logic [3:0]               pad_right,
  output logic [ADDRESS_WIDTH-1:0] address,
  output logic [31:0]              row_bytes,
  output logic [ADDRESS_WIDTH-1:0] stride          // bytes from row to row
);
  assign sram_base = instruction[25:10];
  assign y_size = instruction[79:64];
  assign x_size = instruction[95:80];
  assign pad_top = instruction[115:112];
  assign pad_bottom = instruction[119:116];
  assign pad_left = instruction[123:120];
  assign pad_right = instruction[127:124];

  assign empty = x_size == '0 || y_size == '0;
  assign address = base + (ADDRESS_WIDTH'(instruction[57:26]) << log_bytes);
  assign row_bytes = 32'(x_size) << log_bytes;
  assign stride = ADDRESS_WIDTH'(instruction[111:96]) << log_bytes;

  wire unused = &{1'b0, instruction[9:0], instruction[63:58]};
endmodule
