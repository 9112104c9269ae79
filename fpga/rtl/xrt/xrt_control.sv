// Between XRT, which knows kernels by the registers of ap_ctrl_hs, and the core, which has its own:
//   0x00         XRT's: bit 0 start; bits 1 done and 3 ready, until they are read; bit 2 idle
//   0x04 … 0x0C  XRT's: interrupt enable; which of done (bit 0) and ready (bit 1); those that were
//   0x10, 0x18   the number of instructions; the address of the first, as the core says it
//   0x20, 0x24   where its memory is: of that only the upper half matters, which `memory_high` is
//   0x100 …      the core's registers (core/control.sv), to read and to write
// A start is written to the core behind both arguments. It is done when the core no longer runs, also
// when it was stopped through its registers. One access of the core is under way at a time.
module xrt_control (
  input  logic        clk,
  input  logic        reset,
  output logic        irq,
  output logic [31:0] memory_high,
  // From XRT.
  input  logic        s_awvalid,
  output logic        s_awready,
  input  logic [11:0] s_awaddr,
  input  logic        s_wvalid,
  output logic        s_wready,
  input  logic [31:0] s_wdata,
  input  logic [3:0]  s_wstrb,
  output logic        s_bvalid,
  input  logic        s_bready,
  output logic [1:0]  s_bresp,
  input  logic        s_arvalid,
  output logic        s_arready,
  input  logic [11:0] s_araddr,
  output logic        s_rvalid,
  input  logic        s_rready,
  output logic [31:0] s_rdata,
  output logic [1:0]  s_rresp,
  // To the core, which takes a write's address and data together.
  output logic        m_awvalid,
  input  logic        m_awready,
  output logic [11:0] m_awaddr,
  output logic        m_wvalid,
  input  logic        m_wready,
  output logic [31:0] m_wdata,
  output logic [3:0]  m_wstrb,
  input  logic        m_bvalid,
  output logic        m_bready,
  input  logic [1:0]  m_bresp,
  output logic        m_arvalid,
  input  logic        m_arready,
  output logic [11:0] m_araddr,
  input  logic        m_rvalid,
  output logic        m_rready,
  input  logic [31:0] m_rdata,
  input  logic [1:0]  m_rresp
);
  typedef enum logic [2:0] {IDLE, WRITE, WRITE_ANSWER, READ, READ_ANSWER} bus_state;
  typedef enum logic [2:0] {REST, COUNT, ADDRESS, START, POLL} start_state;

  bus_state bus;
  start_state step;
  logic for_xrt;  // the access of the core that is under way
  logic start, done, ready, interrupt_enabled;
  logic [1:0] enabled, seen;  // done, ready
  logic [31:0] count, address, memory_low;

  // What XRT asks for is taken when its answer can be given: of the core, when nothing is under way.
  logic write_there, read_there, writes, reads, to_core_write, to_core_read;
  assign to_core_write = s_awaddr[11:8] != 4'd0;
  assign to_core_read = s_araddr[11:8] != 4'd0;
  assign write_there = s_awvalid && s_wvalid && !s_bvalid;
  assign read_there = s_arvalid && !s_rvalid && !write_there;
  assign writes = write_there && (!to_core_write || bus == IDLE);
  assign reads = read_there && (!to_core_read || bus == IDLE);
  assign s_awready = writes;
  assign s_wready = writes;
  assign s_arready = reads;
  assign s_bresp = 2'b00;
  assign s_rresp = 2'b00;
  assign irq = interrupt_enabled && seen != 2'd0;

  assign m_awvalid = bus == WRITE;
  assign m_wvalid = bus == WRITE;
  assign m_bready = bus == WRITE_ANSWER;
  assign m_arvalid = bus == READ;
  assign m_rready = bus == READ_ANSWER;

  logic [31:0] mask;
  assign mask = {{8{s_wstrb[3]}}, {8{s_wstrb[2]}}, {8{s_wstrb[1]}}, {8{s_wstrb[0]}}};

  // The last poll of the core said that it does not run.
  logic ended;
  assign ended = bus == READ_ANSWER && m_rvalid && !for_xrt && !m_rdata[0];

  always_ff @(posedge clk) begin
    if (reset) begin
      bus <= IDLE;
      step <= REST;
      for_xrt <= 1'b0;
      start <= 1'b0;
      done <= 1'b0;
      ready <= 1'b0;
      interrupt_enabled <= 1'b0;
      enabled <= 2'd0;
      seen <= 2'd0;
      s_bvalid <= 1'b0;
      s_rvalid <= 1'b0;
      memory_high <= '0;
    end else begin
      if (s_bvalid && s_bready) s_bvalid <= 1'b0;
      if (s_rvalid && s_rready) s_rvalid <= 1'b0;

      // The core's accesses.
      case (bus)
        IDLE:
          if (writes && to_core_write) begin
            bus <= WRITE;
            for_xrt <= 1'b1;
            m_awaddr <= s_awaddr - 12'h100;
            m_wdata <= s_wdata;
            m_wstrb <= s_wstrb;
          end else if (reads && to_core_read) begin
            bus <= READ;
            for_xrt <= 1'b1;
            m_araddr <= s_araddr - 12'h100;
          end else if (step != REST) begin
            bus <= step == POLL ? READ : WRITE;
            for_xrt <= 1'b0;
            m_araddr <= 12'h000;
            m_wstrb <= 4'hf;
            case (step)
              COUNT: begin
                m_awaddr <= 12'h008;
                m_wdata <= count;
              end
              ADDRESS: begin
                m_awaddr <= 12'h00c;
                m_wdata <= address;
              end
              default: begin
                m_awaddr <= 12'h000;
                m_wdata <= 32'd1;
              end
            endcase
          end
        WRITE: if (m_awready && m_wready) bus <= WRITE_ANSWER;
        WRITE_ANSWER:
          if (m_bvalid) begin
            bus <= IDLE;
            if (for_xrt) s_bvalid <= 1'b1;
            else step <= step == COUNT ? ADDRESS : step == ADDRESS ? START : POLL;
          end
        READ: if (m_arready) bus <= READ_ANSWER;
        default:
          if (m_rvalid) begin
            bus <= IDLE;
            if (for_xrt) begin
              s_rvalid <= 1'b1;
              s_rdata <= m_rdata;
            end
          end
      endcase

      // XRT's own registers.
      if (writes && !to_core_write) begin
        s_bvalid <= 1'b1;
        case (s_awaddr[7:2])
          6'h00:
            if (s_wdata[0] && s_wstrb[0] && !start) begin
              start <= 1'b1;
              step <= COUNT;
            end
          6'h01: if (s_wstrb[0]) interrupt_enabled <= s_wdata[0];
          6'h02: if (s_wstrb[0]) enabled <= s_wdata[1:0];
          6'h03: if (s_wstrb[0]) seen <= seen ^ s_wdata[1:0];
          6'h04: count <= (count & ~mask) | (s_wdata & mask);
          6'h06: address <= (address & ~mask) | (s_wdata & mask);
          6'h08: memory_low <= (memory_low & ~mask) | (s_wdata & mask);
          6'h09: memory_high <= (memory_high & ~mask) | (s_wdata & mask);
          default: ;
        endcase
      end
      if (reads && !to_core_read) begin
        s_rvalid <= 1'b1;
        case (s_araddr[7:2])
          6'h00: begin
            s_rdata <= {28'd0, ready, !start, done, start};
            done <= 1'b0;
            ready <= 1'b0;
          end
          6'h01: s_rdata <= {31'd0, interrupt_enabled};
          6'h02: s_rdata <= {30'd0, enabled};
          6'h03: s_rdata <= {30'd0, seen};
          6'h04: s_rdata <= count;
          6'h06: s_rdata <= address;
          6'h08: s_rdata <= memory_low;
          6'h09: s_rdata <= memory_high;
          default: s_rdata <= '0;
        endcase
      end

      // Behind what reading clears: an end is never missed.
      if (ended) begin
        step <= REST;
        start <= 1'b0;
        done <= 1'b1;
        ready <= 1'b1;
        seen <= seen | enabled;
      end
    end
  end

  wire unused = &{1'b0, m_bresp, m_rresp, s_awaddr[1:0], s_araddr[1:0]};
endmodule
