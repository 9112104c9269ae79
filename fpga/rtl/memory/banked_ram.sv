// Memory of wide elements that are read whole and written whole or in parts: a bank for each part.
module banked_ram #(
  parameter int BANKS = 2,
  parameter int BANK_WIDTH = 64,
  parameter int LOG_DEPTH = 11
) (
  input  logic                        clk,
  input  logic [BANKS-1:0]            write,        // which banks
  input  logic [LOG_DEPTH-1:0]        write_index,
  input  logic [BANKS*BANK_WIDTH-1:0] write_data,
  input  logic                        read,
  input  logic [LOG_DEPTH-1:0]        read_index,
  output logic [BANKS*BANK_WIDTH-1:0] read_data
);
  for (genvar i = 0; i < BANKS; i++) begin : banks
    ram #(.WIDTH(BANK_WIDTH), .LOG_DEPTH(LOG_DEPTH)) bank (
      .clk,
      .write(write[i]), .write_index, .write_data(write_data[i*BANK_WIDTH+:BANK_WIDTH]),
      .read, .read_index, .read_data(read_data[i*BANK_WIDTH+:BANK_WIDTH])
    );
  end
endmodule
