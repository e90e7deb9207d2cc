const unitSeconds = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 } as const

/** Seconds of a duration such as 90s, 15m, 12h, 30d or 2w; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit] = /^(\d{1,9})([smhdw])$/.exec(text) ?? []
  return unit === undefined ? undefined : Number(amount) * unitSeconds[unit as keyof typeof unitSeconds]
}

/** Exact, in the largest unit that needs no fraction: 15m, 90s, 1d. */
export function formatDuration(seconds: number): string {
  for (const unit of ['d', 'h', 'm'] as const) {
    if (seconds >= unitSeconds[unit] && seconds % unitSeconds[unit] === 0) {
      return `${seconds / unitSeconds[unit]}${unit}`
    }
  }
  return `${seconds}s`
}

/** Rounded down to one unit, for measured durations: 119s, 2m, 47h, 2d. */
export function formatAge(seconds: number): string {
  const unit = (['d', 'h', 'm'] as const).find((one) => seconds >= 2 * unitSeconds[one]) ?? 's'
  return `${Math.floor(seconds / unitSeconds[unit])}${unit}`
}
