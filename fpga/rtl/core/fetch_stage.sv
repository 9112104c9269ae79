// Reads the instruction stream and hands each instruction to the unit that executes it:
// STORE to store; LOAD of INP and WGT to load; the rest to compute.
module fetch_stage #(
  parameter int ADDRESS_WIDTH = 32,
  parameter int MAX_BEATS = 16
) (
  input  logic                     clk,
  input  logic                     reset,
  input  logic                     start,         // for a cycle, while nothing is fetched
  input  logic [ADDRESS_WIDTH-1:0] address,       // of the first instruction, a multiple of 16
  input  logic [27:0]              count,         // of instructions
  output logic                     request_valid,
  input  logic                     request_ready,
  output logic [ADDRESS_WIDTH-1:0] request_address,
  output logic [8:0]               request_beats,
  input  logic                     beat_valid,
  input  logic [63:0]              beat_data,
  output logic                     load_valid,
  input  logic                     load_ready,
  output logic                     compute_valid,
  input  logic                     compute_ready,
  output logic                     store_valid,
  input  logic                     store_ready,
  output logic [127:0]             instruction
);
  logic stream_valid, stream_ready, client_ready;
  logic [63:0] stream_data;

  read_client #(
    .ADDRESS_WIDTH(ADDRESS_WIDTH), .ROW_WIDTH(32), .COUNT_WIDTH(1), .MAX_BEATS(MAX_BEATS),
    .LOG_BUFFER(6)
  ) client (
    .clk, .reset,
    .start_valid(start && count != '0), .start_ready(client_ready), .start_address(address),
    .start_row_bytes({count, 4'b0000}), .start_rows(1'b1), .start_stride('0),
    .request_valid, .request_ready, .request_address, .request_beats, .beat_valid, .beat_data,
    .stream_valid, .stream_ready, .stream_data
  );

  // The low half waits for the high one.
  logic has_low, for_store, for_load;
  logic [63:0] low;
  logic [2:0] opcode, memory;

  assign instruction = {stream_data, low};
  assign opcode = low[2:0];
  assign memory = low[9:7];
  assign for_store = opcode == vta_isa::OPCODE_STORE;
  assign for_load = opcode == vta_isa::OPCODE_LOAD &&
                    (memory == vta_isa::MEMORY_INP || memory == vta_isa::MEMORY_WGT);

  assign store_valid = has_low && stream_valid && for_store;
  assign load_valid = has_low && stream_valid && for_load;
  assign compute_valid = has_low && stream_valid && !for_store && !for_load;
  assign stream_ready =
      !has_low || (for_store ? store_ready : for_load ? load_ready : compute_ready);

  always_ff @(posedge clk) begin
    if (reset) has_low <= 1'b0;
    else if (stream_valid && stream_ready) has_low <= !has_low;
    if (stream_valid && !has_low) low <= stream_data;
  end

  wire unused = &{1'b0, client_ready};
endmodule
