// The store unit: OUT memory to DRAM. Elements lie behind each other on the chip, whatever the
// stride of rows in DRAM. Tokens are pushed when every write was answered.
module store_stage #(
  parameter int ADDRESS_WIDTH = 32,
  parameter int MAX_BEATS = 16,
  parameter int LOG_OUTSTANDING = 3,
  parameter int LOG_OUT = 11,
  parameter int LOG_OUT_BYTES = 4   // of an element, at least a beat
) (
  input  logic                            clk,
  input  logic                            reset,
  input  logic                            instruction_valid,
  output logic                            instruction_ready,
  input  logic [127:0]                    instruction,
  input  logic [ADDRESS_WIDTH-1:0]        out_base,
  // Tokens: from compute, to compute.
  input  logic                            computed_valid,
  output logic                            computed_pop,
  input  logic                            stored_claim_ready,
  output logic                            stored_claim,
  output logic                            stored_push,
  output logic [LOG_OUT-1:0]              out_index,
  output logic                            out_read,      // out_data follows a cycle later, and stays
  input  logic [8*(1<<LOG_OUT_BYTES)-1:0] out_data,
  output logic                            write_error,
  input  logic                            hold,          // begin no burst more
  output logic                            drained,       // no burst is under way
  output logic                            awvalid,
  input  logic                            awready,
  output logic [ADDRESS_WIDTH-1:0]        awaddr,
  output logic [7:0]                      awlen,
  output logic                            wvalid,
  input  logic                            wready,
  output logic [63:0]                     wdata,
  output logic                            wlast,
  input  logic                            bvalid,
  output logic                            bready,
  input  logic [1:0]                      bresp
);
  localparam int BEATS = 1 << (LOG_OUT_BYTES - 3);
  localparam int LOG_BEATS = LOG_OUT_BYTES - 3;

  logic pop_previous, push_previous, tokens_there, empty, port_ready, begins, working, push_later;
  logic [15:0] sram_base, x_size, y_size;
  logic [3:0] pad_top, pad_bottom, pad_left, pad_right;
  logic [ADDRESS_WIDTH-1:0] address, stride;
  logic [31:0] row_bytes;

  assign pop_previous = instruction[3];
  assign push_previous = instruction[5];
  assign tokens_there = (!pop_previous || computed_valid) && (!push_previous || stored_claim_ready);
  assign instruction_ready = tokens_there && port_ready && !working;
  assign begins = instruction_valid && instruction_ready;
  assign computed_pop = begins && pop_previous;
  assign stored_claim = begins && push_previous;

  decode_memory #(.ADDRESS_WIDTH(ADDRESS_WIDTH)) decode (
    .instruction, .base(out_base), .log_bytes(4'(LOG_OUT_BYTES)),
    .empty, .sram_base, .x_size, .y_size, .pad_top, .pad_bottom, .pad_left, .pad_right,
    .address, .row_bytes, .stride
  );

  // Element after element through the RAM's output register, beat after beat to the port.
  logic beats_valid, beat_taken, element_ends, all_read, row_ends;
  logic [15:0] row_elements, columns_left, rows_left;
  logic [LOG_BEATS:0] beat;
  logic [63:0] beat_data;
  assign all_read = rows_left == '0;
  assign element_ends = beat_taken && beat == (LOG_BEATS + 1)'(BEATS - 1);
  assign out_read = working && !all_read && (!beats_valid || element_ends);
  assign row_ends = out_read && columns_left == 16'd1;
  always_comb begin
    beat_data = out_data[63:0];
    for (int i = 1; i < BEATS; i++)
      if (beat == (LOG_BEATS + 1)'(i)) beat_data = out_data[i*64+:64];
  end

  // The port is ready again when the last write was answered.
  logic finishes;
  assign finishes = working && all_read && !beats_valid && port_ready;
  assign stored_push = (finishes && push_later) || (begins && empty && push_previous);

  always_ff @(posedge clk) begin
    if (reset) begin
      working <= 1'b0;
      beats_valid <= 1'b0;
    end else begin
      if (begins) working <= !empty;
      else if (finishes) working <= 1'b0;
      if (out_read) beats_valid <= 1'b1;
      else if (element_ends) beats_valid <= 1'b0;
    end

    if (begins) begin
      push_later <= push_previous;
      out_index <= sram_base[LOG_OUT-1:0];
      row_elements <= x_size;
      columns_left <= x_size;
      rows_left <= y_size;
      beat <= '0;
    end else begin
      if (out_read) begin
        out_index <= out_index + 1'b1;
        columns_left <= row_ends ? row_elements : columns_left - 1'b1;
        if (row_ends) rows_left <= rows_left - 1'b1;
      end
      if (beat_taken) beat <= element_ends ? '0 : beat + 1'b1;
    end
  end

  logic stream_ready;
  assign beat_taken = beats_valid && stream_ready;
  write_port #(
    .ADDRESS_WIDTH(ADDRESS_WIDTH), .MAX_BEATS(MAX_BEATS), .LOG_OUTSTANDING(LOG_OUTSTANDING)
  ) port (
    .clk, .reset,
    .start_valid(begins && !empty), .start_ready(port_ready), .start_address(address),
    .start_row_bytes(row_bytes), .start_rows(y_size), .start_stride(stride),
    .stream_valid(beats_valid), .stream_ready, .stream_data(beat_data),
    .write_error, .hold, .drained, .awvalid, .awready, .awaddr, .awlen, .wvalid, .wready, .wdata, .wlast,
    .bvalid, .bready, .bresp
  );

  wire unused = &{1'b0, sram_base, pad_top, pad_bottom, pad_left, pad_right};
endmodule
