// Writes rows of DRAM from a stream of 64-bit beats: AXI4 write channels, addresses sent ahead of
// the data. Rows begin and end with whole beats. Finished when every burst was answered.
module write_port #(
  parameter int ADDRESS_WIDTH = 32,
  parameter int MAX_BEATS = 16,
  parameter int LOG_OUTSTANDING = 3   // bursts whose data or answer is still to come
) (
  input  logic                     clk,
  input  logic                     reset,
  input  logic                     start_valid,
  output logic                     start_ready,     // idle: everything before was answered
  input  logic [ADDRESS_WIDTH-1:0] start_address,
  input  logic [31:0]              start_row_bytes, // not 0
  input  logic [15:0]              start_rows,      // not 0
  input  logic [ADDRESS_WIDTH-1:0] start_stride,
  input  logic                     stream_valid,
  output logic                     stream_ready,
  input  logic [63:0]              stream_data,
  output logic                     write_error,     // for a cycle
  output logic                     awvalid,
  input  logic                     awready,
  output logic [ADDRESS_WIDTH-1:0] awaddr,
  output logic [7:0]               awlen,
  output logic                     wvalid,
  input  logic                     wready,
  output logic [63:0]              wdata,
  output logic                     wlast,
  input  logic                     bvalid,
  output logic                     bready,
  input  logic [1:0]               bresp
);
  logic splitter_ready, burst_valid, sent, answered, lengths_ready, length_valid, burst_ends;
  logic [8:0] burst_beats;
  logic [7:0] length, beat;
  logic [LOG_OUTSTANDING:0] outstanding;

  burst_splitter #(.ADDRESS_WIDTH(ADDRESS_WIDTH), .MAX_BEATS(MAX_BEATS)) splitter (
    .clk, .reset,
    .start_valid(start_valid && start_ready), .start_ready(splitter_ready), .start_address,
    .start_row_bytes, .start_rows, .start_stride,
    .burst_valid, .burst_ready(sent), .burst_address(awaddr), .burst_beats
  );
  assign start_ready = splitter_ready && outstanding == '0;

  // `outstanding` only falls while an address waits, so awvalid stays until awready.
  assign awvalid = burst_valid && lengths_ready && !outstanding[LOG_OUTSTANDING];
  assign awlen = 8'(burst_beats - 9'd1);
  assign sent = awvalid && awready;
  fifo #(.WIDTH(8), .LOG_DEPTH(LOG_OUTSTANDING)) lengths (
    .clk, .reset,
    .in_valid(sent), .in_ready(lengths_ready), .in_data(awlen),
    .out_valid(length_valid), .out_ready(burst_ends), .out_data(length)
  );

  assign wvalid = stream_valid && length_valid;
  assign stream_ready = wready && length_valid;
  assign wdata = stream_data;
  assign wlast = beat == length;
  assign burst_ends = wvalid && wready && wlast;

  assign bready = 1'b1;
  assign answered = bvalid;
  assign write_error = bvalid && bresp[1];

  always_ff @(posedge clk) begin
    if (reset) begin
      outstanding <= '0;
      beat <= '0;
    end else begin
      outstanding <= outstanding + (LOG_OUTSTANDING + 1)'(sent) - (LOG_OUTSTANDING + 1)'(answered);
      if (burst_ends) beat <= '0;
      else if (wvalid && wready) beat <= beat + 1'b1;
    end
  end

  wire unused = &{1'b0, bresp[0]};
endmodule
