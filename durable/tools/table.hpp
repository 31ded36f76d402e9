// A table of texts, in columns as wide as their widest cell. `lines` leaves out a column without content.
#pragma once

#include <string>
#include <vector>

namespace tickwheel::jobs {

class table {
  public:
    explicit table(std::vector<std::string> heads) : heads_(std::move(heads)) {}

    // Plain texts, one for each head.
    void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

    // The heads and the rows; empty if there are no rows.
    std::vector<std::string> lines() const;

    // The rows since the last call, in columns at least as wide as before. The heads stand before the first
    // rows, and before rows that have a column more.
    std::vector<std::string> next_lines();

  private:
    std::size_t width(std::size_t column) const;

    std::vector<std::string> heads_;
    std::vector<std::vector<std::string>> rows_;
    std::vector<std::size_t> former_;  // the widths of the lines so far
};

}  // namespace tickwheel::jobs
