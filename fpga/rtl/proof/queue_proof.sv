// Proof about fifo and command_queue: they show what was put in, in that order, lose nothing and
// make up nothing, and take at least 1 << LOG_DEPTH entries. For as many cycles from reset as
// prove.sh says: small queues have come into every state by then.
module queue_proof #(
  parameter bit IN_RAM = 1'b0,   // command_queue, else fifo
  parameter int WIDTH = 2,
  parameter int LOG_DEPTH = 1
) (
  input logic             clk,
  input logic             in_valid,
  input logic [WIDTH-1:0] in_data,
  input logic             out_ready
);
  localparam int PLACES = (1 << LOG_DEPTH) + 1;  // that the deeper of the two has

  logic started = 1'b0;
  always_ff @(posedge clk) started <= 1'b1;

  logic in_ready, out_valid;
  logic [WIDTH-1:0] out_data;
  if (IN_RAM) begin : ram_queue
    command_queue #(.WIDTH(WIDTH), .LOG_DEPTH(LOG_DEPTH)) queue (
      .clk, .reset(!started), .in_valid, .in_ready, .in_data, .out_valid, .out_ready, .out_data
    );
  end else begin : lut_queue
    fifo #(.WIDTH(WIDTH), .LOG_DEPTH(LOG_DEPTH)) queue (
      .clk, .reset(!started), .in_valid, .in_ready, .in_data, .out_valid, .out_ready, .out_data
    );
  end

  // The entries, the oldest lowest.
  logic [PLACES*WIDTH-1:0] entries = '0, left;
  logic [7:0] count = '0, count_left;
  logic in, out;
  assign in = started && in_valid && in_ready;
  assign out = started && out_valid && out_ready;
  assign left = out ? entries >> WIDTH : entries;
  assign count_left = count - 8'(out);
  always_ff @(posedge clk) begin
    entries <= in ? left | ((PLACES * WIDTH)'(in_data) << (WIDTH * count_left)) : left;
    count <= count_left + 8'(in);
  end

  always_comb begin
    if (started) begin
      if (out_valid) assert (count != '0 && out_data == entries[WIDTH-1:0]);
      if (!IN_RAM) assert (out_valid == (count != '0));
      if (count < (8'd1 << LOG_DEPTH)) assert (in_ready);
      assert (count <= 8'(PLACES));
    end
  end
endmodule
