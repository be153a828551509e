// Topology only: which joint carries which body, which joints close loops, in what order to eliminate.
// Knows nothing of physics.
#pragma once

#include <utility>
#include <vector>

namespace catena {

struct Edge {
  int a, b;      // vertices, -1 is the world
  int cost = 0;  // of closing a loop here
};

struct Forest {
  std::vector<int> order;   // vertices, depth first, parents before children
  std::vector<int> parent;  // (vertex) parent vertex, -1 is the world or nothing
  std::vector<int> edge;    // (vertex) edge that carries it, -1 for a floating root
  std::vector<int> found;   // vertices in the order in which they were, parents before children
};

// Breadth-first spanning forest from the world (short cycles), numbered depth first (chains are contiguous). A `light`
// vertex needs others to hang on it: all edges at such are part of the forest, those between two before the others, as
// far as they make no cycle, and none is a root if another can be. Loops are closed by their cheapest edges where
// breadth first would close them by others, unless they get so much longer that it does not pay.
Forest spanning_forest(int vertex_count, const std::vector<Edge>& edges, const std::vector<char>& light);

// symbolic elimination: for every vertex of `order`, the later vertices it touches when its turn comes, fill included,
// sorted by their place in the order
std::vector<std::vector<int>> symbolic_fill(const std::vector<int>& order,
                                            const std::vector<std::vector<int>>& adjacency);

// work of a block elimination, in multiplications: vertices have `size` unknowns
double elimination_work(const std::vector<std::vector<int>>& later, const std::vector<int>& size);

// Minimum degree under the rule that keeps pivots sound: a constraint is ripe when the bodies it acts on are gone, or
// when all that is left of its neighbourhood is one of them and what hangs on the other side does not reach the world
// (`grounded` constraints act on it themselves).
std::vector<int> minimum_degree_order(const std::vector<std::vector<int>>& adjacency, const std::vector<int>& size,
                                      const std::vector<char>& is_body, const std::vector<char>& grounded);

}  // namespace catena
