// The layout of the timeline: each process gets the first lane that is free when the process
// starts.

export interface Life {
  from: number;
  to: number;
}

// Returns the lane of each life, in the same order. Lives must be sorted by start time.
export function assignLanes(lives: Life[]): number[] {
  const ends: number[] = [];
  return lives.map(({ from, to }) => {
    const free = ends.findIndex((end) => end <= from);
    const lane = free < 0 ? ends.length : free;
    ends[lane] = to;
    return lane;
  });
}
