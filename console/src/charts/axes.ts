import uPlot from 'uplot'

const days = 24 * 3600
/** Formats of ticks by the seconds between them, with additions at the start of a year or day. */
export const timeTicks: uPlot.Axis.Values = [
  [365 * days, '{YYYY}', null, null, null, null, null, null, 1],
  [28 * days, '{MMM}', '\n{YYYY}', null, null, null, null, null, 1],
  [days, '{MM}-{DD}', '\n{YYYY}', null, null, null, null, null, 1],
  [60, '{HH}:{mm}', '\n{YYYY}-{MM}-{DD}', null, '\n{MM}-{DD}', null, null, null, 1],
  [1, '{HH}:{mm}:{ss}', '\n{YYYY}-{MM}-{DD}', null, '\n{MM}-{DD}', null, null, null, 1],
  [0.001, ':{ss}.{fff}', '\n{YYYY}-{MM}-{DD} {HH}:{mm}', null, '\n{HH}:{mm}', null, '\n{HH}:{mm}', null, 1],
]

/** Steps between days and years, as the chart library names them. */
const daySteps = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 30, 60, 90, 120, 180, 365, 730, 1825, 3650, 36500].map(
  (n) => n * days,
)

/** Days have no ticks between them, and neither has an axis of several days. */
export function timeSteps(points: readonly number[], slot: number): uPlot.Axis.Incrs | undefined {
  const span = (points.at(-1) ?? 0) - (points[0] ?? 0)
  return slot >= days || span >= 4 * days ? daySteps : undefined
}

export const utcDate = (second: number): Date => uPlot.tzDate(new Date(second * 1000), 'UTC')

/** Counts have no ticks between them. */
export const wholeSteps = Array.from({ length: 16 }, (_, zeros) =>
  [1, 2, 5].map((n) => n * 10 ** zeros),
).flat()

/** Half of a date, which is centered at the end of an axis of time. */
export const lastLabelPx = 34

const characterPx = 6.4
const maxCharacters = 22

const widthOf = (texts: readonly unknown[]) =>
  characterPx * Math.max(1, ...texts.map((text) => String(text ?? '').length))

/** Fits the width of a vertical axis to its texts. */
export const sideSize = (_plot: uPlot, texts: string[] | null): number =>
  Math.max(34, Math.ceil(widthOf(texts ?? [])) + 14)

/** An axis of names, of which as many are shown as fit. */
export function nameAxis(names: readonly string[]): uPlot.Axis {
  // Names such as paths often differ only at their ends.
  const cut = (text: string) =>
    text.length > maxCharacters ? `${text.slice(0, 8)}…${text.slice(9 - maxCharacters)}` : text
  const every = (plot: uPlot) => Math.ceil((names.length * 18) / Math.max(1, plot.width - 60))
  const isTilted = (plot: uPlot, texts: readonly unknown[]) =>
    widthOf(texts) + 8 > ((plot.width - 60) / names.length) * every(plot)
  return {
    splits: (plot) => names.map((_, index) => index).filter((index) => index % every(plot) === 0),
    values: (_plot, splits) => splits.map((index) => cut(names[index] ?? '')),
    rotate: (plot, texts) => (isTilted(plot, texts) ? 40 : 0),
    size: (plot, texts) => (texts && isTilted(plot, texts) ? 18 + widthOf(texts) * 0.65 : 30),
  }
}
