// A table of texts, in columns that are as wide as what stands in them. A column in which nothing stands is
// left out.
#pragma once

#include <string>
#include <vector>

namespace tickwheel::jobs {

class table {
  public:
    explicit table(std::vector<std::string> heads) : heads_(std::move(heads)) {}

    // Plain texts, as many as there are heads.
    void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

    // The head and the rows; none if there are no rows.
    std::vector<std::string> lines() const;

  private:
    std::size_t width(std::size_t column) const;

    std::vector<std::string> heads_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace tickwheel::jobs
