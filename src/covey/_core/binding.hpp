// How arrays cross the border between Python and the kernels.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <vector>

#include "core.hpp"

namespace covey {

namespace nb = nanobind;

// Arrays of Python's: contiguous, of exactly this type and number of dimensions. A function that
// takes them converts nothing: covey's Python hands over what fits.
template <class T> using Array1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Array2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using Array3 = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

inline void require(bool fine, const char *what) {
    if (!fine) throw std::invalid_argument(what);
}

template <class Array> bool has_shape(const Array &array, std::initializer_list<i64> shape) {
    return std::equal(shape.begin(), shape.end(), array.shape_ptr());
}

template <class Array> bool all_within(const Array &values, double low, double end) {
    return std::all_of(values.data(), values.data() + values.size(), [&](auto one) { return one >= low && one < end; });
}

// Hand a vector over to Python as an array, without a copy.
template <class T> using Given = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <class T> Given<T> give(std::vector<T> values) {
    auto *kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return Given<T>(kept->data(), {kept->size()}, owner);
}

// The bit generator inside a numpy.random.Generator; the generator must outlive it.
inline Random random_of(nb::handle generator) {
    nb::object capsule = generator.attr("bit_generator").attr("capsule");
    void *inside = PyCapsule_GetPointer(capsule.ptr(), "BitGenerator");
    if (!inside) throw nb::python_error();
    return *static_cast<Random *>(inside);
}

// A table whose arrays are Python's; it keeps them alive.
struct BoundTable : Table {
    std::vector<nb::object> kept;
};

inline void require_k(const Table &table, i64 k) {
    require(k >= 1 && k <= table.cells.rows, "k is from 1 to the number of rows");
}

// Rows of codes, one for each tree.
template <class Array> void require_leaves(const Forest &forest, const Array &codes) {
    const i32 *code = codes.data(), *end = code + codes.size();
    while (code < end)
        for (int tree = 0; tree < forest.trees; ++tree, ++code)
            require(*code >= forest.first[tree] && *code - forest.first[tree] < forest.leaves[tree],
                    "a code is no leaf of its tree");
}

// Kernels run without the interpreter's lock, so that other threads go on.
template <class Work> auto unlocked(Work work) {
    nb::gil_scoped_release release;
    return work();
}

using nb::literals::operator""_a;

// Each binds the kernels of one file.
void bind_growth(nb::module_ &m);
void bind_kaca(nb::module_ &m);
void bind_mdav(nb::module_ &m);
void bind_oka(nb::module_ &m);
void bind_wf_c_means(nb::module_ &m);
void bind_centre_point(nb::module_ &m);
void bind_mondrian(nb::module_ &m);
void bind_cb(nb::module_ &m);
void bind_nh(nb::module_ &m);
void bind_refinement(nb::module_ &m);
void bind_annealing(nb::module_ &m);
void bind_pricing(nb::module_ &m);

}  // namespace covey
