const unitSeconds = { s: 1, m: 60, h: 3600 } as const

/** Seconds of a duration such as "900s", "15m" or "1h". */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,9})([smh])$/.exec(text)
  return match ? Number(match[1]) * unitSeconds[match[2] as keyof typeof unitSeconds] : undefined
}

export function formatDuration(seconds: number): string {
  return `${seconds}s`
}
