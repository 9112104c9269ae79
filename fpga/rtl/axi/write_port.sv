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
  input  logic                     hold,            // begin no burst more
  output logic                     drained,         // no burst is under way
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
  logic [7:0] burst_length, length, beat;
  logic [ADDRESS_WIDTH-1:0] burst_address;
  logic [LOG_OUTSTANDING:0] outstanding;

  burst_splitter #(.ADDRESS_WIDTH(ADDRESS_WIDTH), .MAX_BEATS(MAX_BEATS)) splitter (
    .clk, .reset,
    .start_valid(start_valid && start_ready), .start_ready(splitter_ready), .start_address,
    .start_row_bytes, .start_rows, .start_stride,
    .burst_valid, .burst_ready(sent), .burst_address, .burst_beats
  );
  assign burst_length = 8'(burst_beats - 9'd1);
  assign start_ready = splitter_ready && outstanding == '0;

  assign sent = burst_valid && lengths_ready && !outstanding[LOG_OUTSTANDING] && !hold &&
                (!awvalid || awready);
  assign drained = outstanding == '0;
  fifo #(.WIDTH(8), .LOG_DEPTH(LOG_OUTSTANDING)) lengths (
    .clk, .reset,
    .in_valid(sent), .in_ready(lengths_ready), .in_data(burst_length),
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
      awvalid <= 1'b0;
    end else begin
      if (sent) awvalid <= 1'b1;
      else if (awready) awvalid <= 1'b0;
      outstanding <= outstanding + (LOG_OUTSTANDING + 1)'(sent) - (LOG_OUTSTANDING + 1)'(answered);
      if (burst_ends) beat <= '0;
      else if (wvalid && wready) beat <= beat + 1'b1;
    end
    if (sent) begin
      awaddr <= burst_address;
      awlen <= burst_length;
    end
  end

  wire unused = &{1'b0, bresp[0]};
endmodule
