/** Limits a cache to a number of entries. Its memory grows with those that it has; `max` would reserve it for all of them. */
export function atMost(entries: number) {
  return { maxSize: entries, sizeCalculation: () => 1 } as const
}
