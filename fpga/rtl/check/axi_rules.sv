// What AXI4 asks of the core's master and of the memory behind it, as assertions: what is offered
// stays until it is taken, bursts keep below 4 KiB boundaries and the length that ports take, data
// come in the length that was asked for, answers after what they answer.
module axi_rules #(
  parameter int MAX_BEATS = 16,
  parameter int IDS = 4
) (
  input logic        clk,
  input logic        resetn,
  input logic        arvalid,
  input logic        arready,
  input logic [31:0] araddr,
  input logic [1:0]  arid,
  input logic [7:0]  arlen,
  input logic        rvalid,
  input logic        rready,
  input logic [1:0]  rid,
  input logic        rlast,
  input logic        awvalid,
  input logic        awready,
  input logic [31:0] awaddr,
  input logic [7:0]  awlen,
  input logic        wvalid,
  input logic        wready,
  input logic [63:0] wdata,
  input logic        wlast,
  input logic        bvalid,
  input logic        bready
);
  // The last cycle.
  logic was_reset, ar_waited, aw_waited, w_waited;
  logic [31:0] old_araddr, old_awaddr;
  logic [9:0] old_ar;
  logic [7:0] old_awlen;
  logic [64:0] old_w;
  always_ff @(posedge clk) begin
    was_reset <= !resetn;
    ar_waited <= resetn && arvalid && !arready;
    aw_waited <= resetn && awvalid && !awready;
    w_waited <= resetn && wvalid && !wready;
    old_araddr <= araddr;
    old_awaddr <= awaddr;
    old_ar <= {arid, arlen};
    old_awlen <= awlen;
    old_w <= {wlast, wdata};
  end

  // Lengths that were asked for: of reads by ID, of writes in order.
  localparam int PLACES = 64;
  logic [7:0] read_lengths[IDS*PLACES];
  logic [5:0] read_head[IDS], read_tail[IDS];
  logic [7:0] read_beat[IDS];
  logic [7:0] write_lengths[PLACES];
  logic [5:0] write_head, write_tail;
  logic [7:0] write_beat;
  logic [6:0] ended_writes;  // whose last beat came, and no answer yet
  logic write_ends;
  assign write_ends = wvalid && wready && wlast;

  always_ff @(posedge clk) begin
    if (!resetn) begin
      for (int i = 0; i < IDS; i++) begin
        read_head[i] <= '0;
        read_tail[i] <= '0;
        read_beat[i] <= '0;
      end
      write_head <= '0;
      write_tail <= '0;
      write_beat <= '0;
      ended_writes <= '0;
    end else begin
      if (arvalid && arready) begin
        read_lengths[{arid, read_tail[arid]}] <= arlen;
        read_tail[arid] <= read_tail[arid] + 1'b1;
      end
      if (rvalid && rready) begin
        read_beat[rid] <= rlast ? '0 : read_beat[rid] + 1'b1;
        if (rlast) read_head[rid] <= read_head[rid] + 1'b1;
      end
      // An address counts from when it is offered: data may be taken before it is.
      if (awvalid && !aw_waited) begin
        write_lengths[write_tail] <= awlen;
        write_tail <= write_tail + 1'b1;
      end
      if (wvalid && wready) write_beat <= wlast ? '0 : write_beat + 1'b1;
      if (write_ends) write_head <= write_head + 1'b1;
      ended_writes <= ended_writes + 7'(write_ends) - 7'(bvalid && bready);
    end
  end

  logic [7:0] write_length;
  assign write_length =
      write_head == write_tail ? awlen : write_lengths[write_head];

  always_ff @(posedge clk) begin
    if (resetn && was_reset) begin
      assert (!arvalid && !awvalid && !wvalid) else $error("valid right after reset");
    end
    if (resetn) begin
      if (ar_waited)
        assert (arvalid && araddr == old_araddr && {arid, arlen} == old_ar)
        else $error("a read address changed before it was taken");
      if (aw_waited)
        assert (awvalid && awaddr == old_awaddr && awlen == old_awlen)
        else $error("a write address changed before it was taken");
      if (w_waited)
        assert (wvalid && {wlast, wdata} == old_w)
        else $error("write data changed before they were taken");
      if (arvalid) begin
        assert (32'(arlen) < MAX_BEATS) else $error("a read burst is too long");
        assert (32'(araddr[11:3]) + 32'(arlen) < 512) else $error("a read burst crosses 4 KiB");
        assert (araddr[2:0] == '0) else $error("a read burst begins inside of a beat");
      end
      if (awvalid) begin
        assert (32'(awlen) < MAX_BEATS) else $error("a write burst is too long");
        assert (32'(awaddr[11:3]) + 32'(awlen) < 512) else $error("a write burst crosses 4 KiB");
        assert (awaddr[2:0] == '0) else $error("a write burst begins inside of a beat");
      end
      if (wvalid) begin
        assert (write_head != write_tail || (awvalid && !aw_waited))
        else $error("write data without an address");
        assert (wlast == (write_beat == write_length)) else $error("WLAST is wrong");
      end
      if (rvalid) begin
        assert (read_head[rid] != read_tail[rid]) else $error("memory: data that nobody asked for");
        assert (rlast == (read_beat[rid] == read_lengths[{rid, read_head[rid]}]))
        else $error("memory: RLAST is wrong");
      end
      if (bvalid) assert (ended_writes != '0) else $error("memory: an answer to no write");
    end
  end
endmodule
