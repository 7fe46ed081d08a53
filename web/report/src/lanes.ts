// The layout of the timeline: each process gets the first lane that is free when it starts.

export interface Life {
  from: number;
  to: number;
}

// The lane of each life, in the order given. Lives must be sorted by their start.
export function assignLanes(lives: Life[]): number[] {
  const ends: number[] = [];
  return lives.map(({ from, to }) => {
    const free = ends.findIndex((end) => end <= from);
    const lane = free < 0 ? ends.length : free;
    ends[lane] = to;
    return lane;
  });
}
