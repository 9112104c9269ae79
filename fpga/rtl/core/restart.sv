// Brings the units into their first state before a program starts, and when one is stopped. What an
// ill-formed program left in the queues is not the next one's. The bus must see every transaction
// that began to its end, so none begins any more until the last has ended.
module restart (
  input  logic clk,
  input  logic reset,
  input  logic start,        // for a cycle
  input  logic stop,         // for a cycle
  input  logic drained,      // nothing is under way on the bus
  output logic hold,         // begin nothing on the bus
  output logic units_reset,
  output logic go            // for a cycle: the units are ready for the program
);
  logic waits, goes_on;

  assign hold = waits || units_reset;

  always_ff @(posedge clk) begin
    if (reset) begin
      waits <= 1'b0;
      goes_on <= 1'b0;
      units_reset <= 1'b1;
      go <= 1'b0;
    end else begin
      units_reset <= waits && drained;
      go <= units_reset && goes_on;
      if (start || stop) begin
        waits <= 1'b1;
        goes_on <= start;
      end else if (waits && drained) begin
        waits <= 1'b0;
      end else if (units_reset) begin
        goes_on <= 1'b0;
      end
    end
  end
endmodule
