#include "values.hpp"

#include <tickwheel/driver.h>

namespace tickwheel::durable::postgres {

namespace {

constexpr std::int64_t epoch_us = 946'684'800'000'000;  // the year 2000, from 1970 on

template <int Size> std::int64_t from_network(const char *bytes) {
    std::uint64_t value = 0;
    for (int i = 0; i < Size; ++i)
        value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return static_cast<std::int64_t>(value);
}

template <int Size> void to_network(std::int64_t value, char *bytes) {
    for (int i = Size; i-- > 0; value >>= 8)
        bytes[i] = static_cast<char>(value & 0xff);
}

}  // namespace

std::int64_t to_wire_time(std::int64_t ns) {
    return ns != TW_NO_DEADLINE ? ns / 1000 - epoch_us : INT64_MAX;  // infinity
}
std::int64_t from_wire_time(std::int64_t wire) { return (wire + epoch_us) * 1000; }

void wire::put2(std::int32_t value) {
    char bytes[2];
    to_network<2>(value, bytes);
    bytes_.append(bytes, sizeof bytes);
}

void wire::put4(std::int32_t value) {
    char bytes[4];
    to_network<4>(value, bytes);
    bytes_.append(bytes, sizeof bytes);
}

void wire::put8(std::int64_t value) {
    char bytes[8];
    to_network<8>(value, bytes);
    bytes_.append(bytes, sizeof bytes);
}

column::column(type element, std::size_t count) {
    out_.put4(count > 0 ? 1 : 0);  // dimensions
    out_.put4(1);                  // the array may contain nulls
    out_.put4(static_cast<std::int32_t>(element));
    if (count > 0) {
        out_.put4(static_cast<std::int32_t>(count));
        out_.put4(1);  // the first index
    }
}

void column::add_null() { out_.put4(-1); }

void column::add_int4(std::int32_t value) {
    out_.put4(4);
    out_.put4(value);
}

void column::add_int8(std::int64_t value) {
    out_.put4(8);
    out_.put8(value);
}

void column::add_place(std::int64_t place) {
    out_.put4(6);
    out_.put4(static_cast<std::int32_t>(place >> bits_of_item));
    out_.put2(static_cast<std::int32_t>(place & ((1 << bits_of_item) - 1)));
}

void column::add_bytes(std::string_view value) {
    out_.put4(static_cast<std::int32_t>(value.size()));
    out_.put_bytes(value);
}

void column::add_text(const char *text) {
    if (text == nullptr)
        add_null();
    else
        add_bytes(text);
}

parameters &parameters::add_int4(std::int32_t value) {
    wire out;
    out.put4(value);
    values_.push_back({out.bytes(), false, false});
    return *this;
}

parameters &parameters::add_int8(std::int64_t value) {
    wire out;
    out.put8(value);
    values_.push_back({out.bytes(), false, false});
    return *this;
}

parameters &parameters::add_text(const char *text) {
    values_.push_back({text != nullptr ? text : "", text == nullptr, true});
    return *this;
}

parameters &parameters::add_bytes(std::string_view bytes) {
    values_.push_back({std::string(bytes), false, false});
    return *this;
}

parameters &parameters::add(const column &values) {
    values_.push_back({values.bytes(), false, false});
    return *this;
}

const char *const *parameters::pointers() {
    pointers_.clear();
    for (const parameter &each : values_)
        pointers_.push_back(each.is_null ? nullptr : each.bytes.c_str());
    return pointers_.data();
}

const int *parameters::lengths() {
    lengths_.clear();
    for (const parameter &each : values_)
        lengths_.push_back(static_cast<int>(each.bytes.size()));
    return lengths_.data();
}

const int *parameters::formats() {
    formats_.clear();
    for (const parameter &each : values_)
        formats_.push_back(each.is_text ? 0 : 1);
    return formats_.data();
}

rows &rows::operator=(rows &&other) noexcept {
    PGresult *const old = result_;
    result_ = other.result_;
    other.result_ = nullptr;
    if (old != result_)
        PQclear(old);
    return *this;
}

std::string_view rows::bytes(int row, int field) const {
    return {PQgetvalue(result_, row, field), static_cast<std::size_t>(PQgetlength(result_, row, field))};
}

const char *rows::text(int row, int field) const {
    return is_null(row, field) ? nullptr : PQgetvalue(result_, row, field);
}

std::int32_t rows::int4(int row, int field) const {
    return static_cast<std::int32_t>(from_network<4>(PQgetvalue(result_, row, field)));
}

std::int64_t rows::time(int row, int field) const {
    const std::int64_t wire = int8(row, field);
    if (wire == INT64_MIN || wire == INT64_MAX)  // -infinity, infinity
        return wire == INT64_MIN ? 0 : INT64_MAX;
    return from_wire_time(wire);
}

std::int64_t rows::place(int row, int field) const {
    const char *const bytes = PQgetvalue(result_, row, field);
    const auto page = static_cast<std::uint32_t>(from_network<4>(bytes));
    return std::int64_t{page} << bits_of_item | from_network<2>(bytes + 4);
}

std::int64_t rows::int8(int row, int field) const { return from_network<8>(PQgetvalue(result_, row, field)); }

}  // namespace tickwheel::durable::postgres
