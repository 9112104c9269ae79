// The form in which records keep a workload: its DAG's text as the key, and what people read.
#pragma once

#include <optional>
#include <string>

namespace fettle::records {

struct WorkloadForm {
  std::string canonical;  // the DAG (host/space/workload.h)
  std::string hash;       // of its structure
  std::string title;      // for tables
  std::string source;     // the operator that wrote it, as JSON; else the DAG
};

// A source as people read it: of a kernel that a user wrote, the name of its file.
std::string source_for_people(const std::string& source);

// Of any text that a record may hold: an operator, as fettle wrote before it had DAGs, or a
// DAG. Nothing: it is neither.
std::optional<WorkloadForm> workload_form(const std::string& text);

}  // namespace fettle::records
