// See table.hpp.
#include "table.hpp"

#include <algorithm>

#include "plain.hpp"

namespace tickwheel::jobs {

namespace {

constexpr std::size_t gap = 2;

std::string line_of(const std::vector<std::string> &cells, const std::vector<std::size_t> &widths) {
    std::string line;
    std::size_t missing = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        if (widths[i] == 0)
            continue;
        line.append(missing, ' ').append(cells[i]);
        missing = widths[i] - width_of(cells[i]) + gap;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
}

}  // namespace

std::size_t table::width(std::size_t column) const {
    std::size_t widest = 0;
    for (const std::vector<std::string> &row : rows_)
        widest = std::max(widest, width_of(row[column]));
    return widest != 0 ? std::max(widest, width_of(heads_[column])) : 0;
}

std::vector<std::string> table::lines() const {
    if (rows_.empty())
        return {};
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < heads_.size(); ++i)
        widths.push_back(width(i));
    std::vector<std::string> all = {line_of(heads_, widths)};
    for (const std::vector<std::string> &row : rows_)
        all.push_back(line_of(row, widths));
    return all;
}

std::vector<std::string> table::next_lines() {
    std::vector<std::string> all;
    bool has_new_column = false;
    former_.resize(heads_.size());
    for (std::size_t i = 0; i < heads_.size(); ++i) {
        const std::size_t now = width(i);
        has_new_column = has_new_column || (former_[i] == 0 && now != 0);
        former_[i] = std::max(former_[i], now);
    }
    if (has_new_column)
        all.push_back(line_of(heads_, former_));
    for (const std::vector<std::string> &row : rows_)
        all.push_back(line_of(row, former_));
    rows_.clear();
    return all;
}

}  // namespace tickwheel::jobs
