// Sum of signed terms, and of single bits that count one each: groups of terms in the first cycle,
// the groups' sums in the second.
module sum #(
  parameter int TERMS = 16,
  parameter int WIDTH = 16,
  parameter int GROUP = 4,
  parameter int TOTAL_WIDTH = WIDTH + $clog2(TERMS)
) (
  input  logic                          clk,
  input  logic [TERMS*WIDTH-1:0]        terms,
  input  logic [TERMS-1:0]              ones,
  output logic signed [TOTAL_WIDTH-1:0] total
);
  localparam int GROUPS = (TERMS + GROUP - 1) / GROUP;
  localparam int COUNT_WIDTH = $clog2(TERMS + 1);

  logic [GROUPS*TOTAL_WIDTH-1:0] next_group, group;
  logic [COUNT_WIDTH-1:0] next_count, count;
  logic signed [TOTAL_WIDTH-1:0] next_total;

  always_comb begin
    next_group = '0;
    for (int i = 0; i < TERMS; i++)
      next_group[i/GROUP*TOTAL_WIDTH+:TOTAL_WIDTH] = next_group[i/GROUP*TOTAL_WIDTH+:TOTAL_WIDTH] +
          TOTAL_WIDTH'($signed(terms[i*WIDTH+:WIDTH]));
    next_count = '0;
    for (int i = 0; i < TERMS; i++) next_count = next_count + COUNT_WIDTH'(ones[i]);
    next_total = TOTAL_WIDTH'(count);
    for (int i = 0; i < GROUPS; i++) next_total = next_total + group[i*TOTAL_WIDTH+:TOTAL_WIDTH];
  end

  always_ff @(posedge clk) begin
    group <= next_group;
    count <= next_count;
    total <= next_total;
  end
endmodule
