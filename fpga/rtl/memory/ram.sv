// Memory with a write port and a registered read port: block RAM. A read of what is written in
// the same cycle gives the old data.
module ram #(
  parameter int WIDTH = 64,
  parameter int LOG_DEPTH = 9
) (
  input  logic                 clk,
  input  logic                 write,
  input  logic [LOG_DEPTH-1:0] write_index,
  input  logic [WIDTH-1:0]     write_data,
  input  logic                 read,        // without it, read_data stays
  input  logic [LOG_DEPTH-1:0] read_index,
  output logic [WIDTH-1:0]     read_data
);
  logic [WIDTH-1:0] storage[1<<LOG_DEPTH];

  always_ff @(posedge clk) begin
    if (write) storage[write_index] <= write_data;
    if (read) read_data <= storage[read_index];
  end
endmodule
