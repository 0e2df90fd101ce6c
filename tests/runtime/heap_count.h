// How often this program has taken memory with new: heap_count.cpp replaces every form of it.
#pragma once

namespace mote::test {

int heap_allocations();

}  // namespace mote::test
