// The parameters and results of statements, in the binary form of PostgreSQL's protocol. A column holds one
// field of all jobs: an array, which the statement unpacks with `unnest`. So the text of a statement is the
// same for one job and for a thousand, and never contains a value.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tickwheel::durable::postgres {

enum class type : Oid {
    bytes = 17,
    int8 = 20,
    int4 = 23,
    text = 25,
    place = 27,  // tid: where a row is
    time = 1184  // timestamptz
};

// PostgreSQL counts microseconds from the year 2000. Its infinity is TW_NO_DEADLINE.
std::int64_t to_wire_time(std::int64_t ns);
std::int64_t from_wire_time(std::int64_t wire);

// The place of a row (ctid) as a number: 16 bits for the item, and above them the page. 0 is no place.
constexpr int bits_of_item = 16;

// Bytes in network order.
class wire {
  public:
    void put2(std::int32_t value);
    void put4(std::int32_t value);
    void put8(std::int64_t value);
    void put_bytes(std::string_view bytes) { bytes_.append(bytes); }
    const std::string &bytes() const { return bytes_; }

  private:
    std::string bytes_;
};

// An array with one dimension.
class column {
  public:
    column(type element, std::size_t count);
    void add_null();
    void add_int4(std::int32_t value);
    void add_int8(std::int64_t value);
    void add_time(std::int64_t ns) { add_int8(to_wire_time(ns)); }
    void add_place(std::int64_t place);
    void add_bytes(std::string_view value);
    void add_text(const char *text);  // a null pointer adds an SQL null
    const std::string &bytes() const { return out_.bytes(); }

  private:
    wire out_;
};

// The parameters of one call of a statement.
class parameters {
  public:
    parameters &add_int4(std::int32_t value);
    parameters &add_int8(std::int64_t value);
    parameters &add_time(std::int64_t ns) { return add_int8(to_wire_time(ns)); }
    parameters &add_text(const char *text);  // a null pointer adds an SQL null
    parameters &add_bytes(std::string_view bytes);
    parameters &add_null() { return add_text(nullptr); }
    parameters &add(const column &values);

    int count() const { return static_cast<int>(values_.size()); }
    const char *const *pointers();
    const int *lengths();
    const int *formats();

  private:
    struct parameter {
        std::string bytes;
        bool is_null;
        bool is_text;  // sent as text, so that the statement determines the type
    };
    std::vector<parameter> values_;
    std::vector<const char *> pointers_;
    std::vector<int> lengths_, formats_;
};

// A result, in binary form.
class rows {
  public:
    explicit rows(PGresult *result = nullptr) : result_(result) {}
    rows(rows &&other) noexcept : result_(other.result_) { other.result_ = nullptr; }
    rows &operator=(rows &&other) noexcept;
    rows(const rows &) = delete;
    rows &operator=(const rows &) = delete;
    ~rows() { PQclear(result_); }

    int count() const { return PQntuples(result_); }
    int fields() const { return PQnfields(result_); }
    bool is_null(int row, int field) const { return PQgetisnull(result_, row, field) != 0; }
    std::string_view bytes(int row, int field) const;
    const char *text(int row, int field) const;  // a null pointer if the field is null
    bool truth(int row, int field) const { return *PQgetvalue(result_, row, field) != 0; }
    std::int32_t int4(int row, int field) const;
    std::int64_t int8(int row, int field) const;
    std::int64_t time(int row, int field) const;
    std::int64_t place(int row, int field) const;
    PGresult *get() const { return result_; }

  private:
    PGresult *result_;
};

}  // namespace tickwheel::durable::postgres
