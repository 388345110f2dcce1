// The module covey._core.kernels: what the kernels share, then the kernels of each file.
#include "binding.hpp"
#include "box_tree.hpp"
#include "sources.hpp"

namespace covey {

namespace {

BoundTable make_table(Array2<double> numbers, Array1<double> weights, Array2<i32> codes, Array2<i32> ancestors,
                      Array1<i32> depth, Array1<double> loss, Array1<i32> first, Array1<i32> leaves,
                      Array1<i32> begin, Array1<i32> end, BoxShape shape) {
    size_t nodes = depth.size(), trees = first.size();
    require(numbers.shape(0) == codes.shape(0), "numbers and codes differ in their rows");
    require(numbers.shape(1) == weights.size(), "a weight for each interval");
    require(codes.shape(1) == trees && leaves.size() == trees, "a tree for each category");
    require(ancestors.shape(0) == nodes && loss.size() == nodes && begin.size() == nodes && end.size() == nodes,
            "the arrays of the forest differ in their nodes");
    for (size_t tree = 0; tree < trees; ++tree)
        require(first.data()[tree] >= 0 && leaves.data()[tree] >= 0 &&
                    size_t(first.data()[tree]) + size_t(leaves.data()[tree]) <= nodes,
                "a tree outside of the forest");
    require(all_within(depth, 0, double(ancestors.shape(1))), "a node below the deepest level");
    require(all_within(ancestors, -1, double(nodes)), "an ancestor outside of the forest");
    require(all_within(begin, 0, double(nodes)) && all_within(end, 0, double(nodes + 1)),
            "leaves outside of the forest");
    require(all_within(numbers, std::numeric_limits<double>::lowest(), INF), "a number is not finite");
    require(shape.leaf_rows >= 1 && shape.bits >= 1 && shape.bits <= 64 && shape.sample >= 2, "no shape of a box");
    BoundTable table;
    for (auto array : {nb::cast(numbers), nb::cast(weights), nb::cast(codes), nb::cast(ancestors), nb::cast(depth),
                       nb::cast(loss), nb::cast(first), nb::cast(leaves), nb::cast(begin), nb::cast(end)})
        table.kept.push_back(array);
    table.cells = {numbers.data(), weights.data(), codes.data(), i64(numbers.shape(0)),
                   int(numbers.shape(1)), int(codes.shape(1))};
    table.forest = {ancestors.data(), depth.data(), loss.data(), first.data(), leaves.data(), begin.data(),
                    end.data(), i64(nodes), int(trees), int(ancestors.shape(1))};
    table.shape = shape;
    require_leaves(table.forest, codes);
    return table;
}

// Some rows in blocks of similar ones: the rows by block, and where each block ends.
nb::tuple tile(const BoundTable &table, Array1<i32> rows, i64 most) {
    require(all_within(rows, 0, double(table.cells.rows)), "a row outside of the table");
    require(most >= 1, "a block has at least one row");
    std::vector<i32> order;
    std::vector<i64> ends;
    unlocked([&] {
        Boxes boxes = split_into_boxes(table, std::vector<i32>(rows.data(), rows.data() + rows.size()), most);
        for (size_t box = 0; box < boxes.first.size(); ++box) {
            if (boxes.left[box] >= 0) continue;
            order.insert(order.end(), boxes.rows.begin() + boxes.first[box], boxes.rows.begin() + boxes.last[box]);
            ends.push_back(i64(order.size()));
        }
        return 0;
    });
    return nb::make_tuple(give(std::move(order)), give(std::move(ends)));
}

}  // namespace

}  // namespace covey

NB_MODULE(kernels, m) {
    using namespace covey;
    m.doc() = "The compiled inner loops of covey. They know arrays only.";
    nb::set_leak_warnings(false);  // a table that lives until the interpreter ends is no leak
    m.attr("SOURCES") = SOURCES;
    nb::exception<Stopped>(m, "Stopped");
    nb::class_<Watch>(m, "Watch")
        .def(nb::init<>())
        .def("stop", &Watch::stop)
        .def_prop_ro("stopped", &Watch::stopped)
        .def_prop_ro("done", &Watch::done);
    nb::class_<BoundTable>(m, "Table")
        .def(
            "__init__",
            [](BoundTable *table, Array2<double> numbers, Array1<double> weights, Array2<i32> codes,
               Array2<i32> ancestors, Array1<i32> depth, Array1<double> loss, Array1<i32> first, Array1<i32> leaves,
               Array1<i32> begin, Array1<i32> end, int leaf_rows, int bits, int sample) {
                new (table) BoundTable(make_table(numbers, weights, codes, ancestors, depth, loss, first, leaves,
                                                  begin, end, {leaf_rows, bits, sample}));
            },
            "numbers"_a.noconvert(), "weights"_a.noconvert(), "codes"_a.noconvert(), "ancestors"_a.noconvert(),
            "depth"_a.noconvert(), "loss"_a.noconvert(), "first"_a.noconvert(), "leaves"_a.noconvert(),
            "begin"_a.noconvert(), "end"_a.noconvert(), "leaf_rows"_a = BoxShape{}.leaf_rows,
            "bits"_a = BoxShape{}.bits, "sample"_a = BoxShape{}.sample);
    m.def("tile", &tile, "table"_a, "rows"_a.noconvert(), "most"_a);
    bind_growth(m);
    bind_kaca(m);
    bind_mdav(m);
    bind_oka(m);
    bind_wf_c_means(m);
    bind_centre_point(m);
    bind_mondrian(m);
    bind_cb(m);
    bind_nh(m);
    bind_refinement(m);
    bind_annealing(m);
    bind_pricing(m);
}
