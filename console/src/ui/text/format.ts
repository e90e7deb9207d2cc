const numbers = new Intl.NumberFormat('en')
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 2 })
const tiny = new Intl.NumberFormat('en', { maximumSignificantDigits: 4 })
const small = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 })

export function count(value: number): string {
  return numbers.format(value)
}

/** A number of a result for reading: with separators, and without digits that only say how it was computed. */
export function readable(value: number): string {
  const size = Math.abs(value)
  if (size >= 1e15 || (size > 0 && size < 1e-6)) return String(value)
  return size < 1 ? tiny.format(value) : numbers.format(value)
}

/** `1 entry`, `2 entries`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

export function short(value: number): string {
  if (Math.abs(value) < 1) return small.format(value)
  if (Math.abs(value) >= 1e15) return value.toExponential(2)
  if (Math.abs(value) >= 10_000) return compact.format(value)
  const precision = Math.abs(value) < 10 ? 100 : 10
  return numbers.format(Math.round(value * precision) / precision)
}

const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']

export function bytes(value: number): string {
  let rest = value
  let unit = 0
  while (rest >= 1000 && unit < units.length - 1) {
    rest /= 1000
    unit++
  }
  return `${unit === 0 || rest >= 100 ? Math.round(rest) : rest.toFixed(1)} ${units[unit]}`
}

export function milliseconds(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return '–'
  if (value < 10) return `${value.toFixed(1)} ms`
  return value < 10_000 ? `${count(Math.round(value))} ms` : `${(value / 1000).toFixed(1)} s`
}

export function percent(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : `${Math.round(value * 1000) / 10} %`
}

export function seconds(value: number): string {
  if (value < 120) return `${value} s`
  if (value < 7200) return `${Math.round(value / 60)} min`
  return value < 172_800 ? `${Math.round(value / 3600)} h` : `${Math.round(value / 86_400)} days`
}

export function ago(iso: string | null, now = Date.now()): string {
  if (iso === null) return 'never'
  const passed = Math.max(0, Math.round((now - Date.parse(iso)) / 1000))
  return passed < 10 ? 'just now' : `${seconds(passed)} ago`
}
