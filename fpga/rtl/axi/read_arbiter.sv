// Several read clients on one AXI4 read port. The lowest number goes first; a transaction's ID is
// its client, and the port answers each ID in order, so clients need no reordering.
module read_arbiter #(
  parameter int CLIENTS = 3,
  parameter int ADDRESS_WIDTH = 32,
  parameter int ID_WIDTH = 2
) (
  input  logic                             clk,
  input  logic                             reset,
  input  logic [CLIENTS-1:0]               request_valid,
  output logic [CLIENTS-1:0]               request_ready,
  input  logic [CLIENTS*ADDRESS_WIDTH-1:0] request_address,
  input  logic [CLIENTS*9-1:0]             request_beats,
  output logic [CLIENTS-1:0]               beat_valid,
  output logic [63:0]                      beat_data,
  output logic                             read_error,   // for a cycle
  input  logic                             hold,         // begin nothing more
  output logic                             drained,      // nothing is under way
  // AXI4: address and data channel. Length, size, burst and the like are constant or beats - 1.
  output logic                             arvalid,
  input  logic                             arready,
  output logic [ADDRESS_WIDTH-1:0]         araddr,
  output logic [ID_WIDTH-1:0]              arid,
  output logic [7:0]                       arlen,
  input  logic                             rvalid,
  output logic                             rready,
  input  logic [ID_WIDTH-1:0]              rid,
  input  logic [63:0]                      rdata,
  input  logic [1:0]                       rresp,
  input  logic                             rlast
);
  logic [ID_WIDTH-1:0] chosen;
  logic free, any, asked;
  logic [15:0] outstanding;  // bursts: no more than clients have room for beats

  assign free = (!arvalid || arready) && !hold;
  assign asked = free && any;
  assign drained = !arvalid && outstanding == '0;

  always_comb begin
    chosen = '0;
    any = 1'b0;
    for (int i = CLIENTS - 1; i >= 0; i--) begin
      if (request_valid[i]) begin
        chosen = ID_WIDTH'(i);
        any = 1'b1;
      end
    end
    request_ready = '0;
    for (int i = 0; i < CLIENTS; i++) begin
      request_ready[i] = free && any && chosen == ID_WIDTH'(i);
    end
  end

  always_ff @(posedge clk) begin
    if (reset) begin
      arvalid <= 1'b0;
      outstanding <= '0;
    end else begin
      if (asked) arvalid <= 1'b1;
      else if (arready) arvalid <= 1'b0;
      outstanding <= outstanding + 16'(asked) - 16'(rvalid && rlast);
    end
    if (free) begin
      arid <= chosen;
      for (int i = 0; i < CLIENTS; i++) begin
        if (chosen == ID_WIDTH'(i)) begin
          araddr <= request_address[i*ADDRESS_WIDTH+:ADDRESS_WIDTH];
          arlen <= 8'(request_beats[i*9+:9] - 9'd1);
        end
      end
    end
  end

  assign rready = 1'b1;
  assign beat_data = rdata;
  assign read_error = rvalid && rresp[1];
  always_comb begin
    for (int i = 0; i < CLIENTS; i++) beat_valid[i] = rvalid && rid == ID_WIDTH'(i);
  end

  wire unused = &{1'b0, rresp[0]};
endmodule
