// Loops that share joints: what one of them passes on through a link, another may take back. Groups of them have
// nothing to do with each other.
#pragma once

#include <vector>

#include "model/layout.hpp"

namespace catena {

struct LoopGroup {
  int first_loop, end_loop;      // in `loop`
  int first_link, end_link;      // in `link`
  int row_count, freedom_count;  // rows of its loops; freedoms of the joints that carry its links
};
// a joint or coupling that closes a loop
struct GroupLoop {
  int constraint;
  int row;            // its first, among those of the group
  Offset first_pull;  // where its rows on its ends are kept: row k on end e is first_pull + e row_count + k
};
// a link with the loops that pass through the joint that carries it
struct GroupLink {
  int link;
  int constraint, held;  // that joint, -1 if there is none, and its rows
  int first_strand, end_strand;
  int row_count;        // of its strands
  Offset first_column;  // in `column`, which rows of the group they are
  Offset first_share;   // where is kept what each row of the joint takes of every row of the strands
};
struct Strand {
  int loop;       // in `loop`
  unsigned ends;  // bit e: end e lies beyond the link
};

// plain data for the kernels
struct LoopGroups {
  int group_count;
  const LoopGroup* group;
  const GroupLoop* loop;
  const GroupLink* link;
  const Strand* strand;
  const int* column;
  Offset pull_count, share_count;
  int most_rows, most_freedoms;  // of one group
};

// owns what LoopGroups points to
class Groups {
 public:
  explicit Groups(const Layout& layout);
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;
  const LoopGroups& plan() const { return plan_; }

 private:
  LoopGroups plan_{};
  std::vector<LoopGroup> groups_;
  std::vector<GroupLoop> loops_;
  std::vector<GroupLink> links_;
  std::vector<Strand> strands_;
  std::vector<int> columns_;
};

}  // namespace catena
