// Proof about burst_splitter, with short rows: a burst is never empty, never longer than allowed,
// and never crosses a 4 KiB boundary; its address stays until it is taken.
module burst_splitter_proof (
  input logic        clk,
  input logic        start_valid,
  input logic [15:0] start_address,
  input logic [7:0]  start_row_bytes,
  input logic [1:0]  start_rows,
  input logic [15:0] start_stride,
  input logic        burst_ready
);
  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;

  logic start_ready, burst_valid;
  logic [15:0] burst_address;
  logic [8:0] burst_beats;
  burst_splitter #(.ADDRESS_WIDTH(16), .ROW_WIDTH(8), .COUNT_WIDTH(2), .MAX_BEATS(16)) splitter (
    .clk, .reset(!started), .start_valid, .start_ready, .start_address, .start_row_bytes,
    .start_rows, .start_stride, .burst_valid, .burst_ready, .burst_address, .burst_beats
  );

  logic busy, in_row;  // its own: prove.sh connects them
  logic waited = 1'b0;
  logic [24:0] old;
  always_ff @(posedge clk) begin
    waited <= started && burst_valid && !burst_ready;
    old <= {burst_address, burst_beats};
  end

  always_comb begin
    if (start_valid) assume (start_row_bytes != '0 && start_rows != '0);
    if (started) assert (busy || !in_row);
    if (started && burst_valid) begin
      assert (burst_beats != '0 && burst_beats <= 9'd16);
      assert (10'(burst_address[11:3]) + 10'(burst_beats) <= 10'd512);
    end
    if (started && waited) assert (burst_valid && old == {burst_address, burst_beats});
  end
endmodule
