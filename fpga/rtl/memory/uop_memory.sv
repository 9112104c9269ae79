// Micro-ops, 32 bits each. Even and odd ones have a bank each, so that both of a 64-bit beat are
// written in one cycle, wherever the first of them goes.
module uop_memory #(
  parameter int LOG_DEPTH = 13
) (
  input  logic                 clk,
  input  logic [1:0]           write,        // low half to write_index, high half to the next
  input  logic [LOG_DEPTH-1:0] write_index,
  input  logic [63:0]          write_data,
  input  logic [LOG_DEPTH-1:0] read_index,
  output logic [31:0]          read_data
);
  logic [LOG_DEPTH-2:0] even_row;
  logic odd, read_odd;
  logic [31:0] even_data, odd_data;

  assign odd = write_index[0];
  assign even_row = write_index[LOG_DEPTH-1:1] + (LOG_DEPTH - 1)'(odd);

  ram #(.WIDTH(32), .LOG_DEPTH(LOG_DEPTH - 1)) even_bank (
    .clk,
    .write(odd ? write[1] : write[0]),
    .write_index(even_row),
    .write_data(odd ? write_data[63:32] : write_data[31:0]),
    .read(1'b1), .read_index(read_index[LOG_DEPTH-1:1]), .read_data(even_data)
  );
  ram #(.WIDTH(32), .LOG_DEPTH(LOG_DEPTH - 1)) odd_bank (
    .clk,
    .write(odd ? write[0] : write[1]),
    .write_index(write_index[LOG_DEPTH-1:1]),
    .write_data(odd ? write_data[31:0] : write_data[63:32]),
    .read(1'b1), .read_index(read_index[LOG_DEPTH-1:1]), .read_data(odd_data)
  );

  always_ff @(posedge clk) read_odd <= read_index[0];
  assign read_data = read_odd ? odd_data : even_data;
endmodule
