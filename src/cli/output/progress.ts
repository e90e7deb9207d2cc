import type { Clock } from '../../base/clock.ts'
import type { CommandOutput } from '../command-io.ts'
import { formatBytes, formatCount } from './format-amount.ts'

export interface ProgressOptions {
  title: string
  /** Undefined where nobody knows how much it will be. */
  total: number | undefined
  unit: 'bytes' | 'count'
  output: CommandOutput
  clock: Clock
}

export interface Progress {
  /** So much is done, of the total; with a few words on what it is at. */
  update(done: number, words?: string): void
  /** Takes the bar away. */
  end(): void
}

const redrawEveryMs = 100
const lineEveryMs = 10_000
const barCells = 24

/** A bar on a terminal; elsewhere a line now and then, which is what a log of a long job wants. */
export function startProgress({ title, total, unit, output, clock }: ProgressOptions): Progress {
  const format = unit === 'bytes' ? formatBytes : formatCount
  const startedAt = clock.now()
  let writtenAt = output.isTerminal ? Number.NEGATIVE_INFINITY : startedAt
  let drawn = false
  const describe = (done: number, words: string) => {
    const seconds = (clock.now() - startedAt) / 1000
    const amount =
      total === undefined
        ? format(done)
        : `${format(done)} of ${format(total)}, ${Math.floor(shareOf(done, total) * 100)} %`
    const speed = seconds >= 1 ? `, ${format(done / seconds)}/s` : ''
    return `${amount}${speed}${words === '' ? '' : `, ${words}`}`
  }
  return {
    update(done, words = '') {
      const now = clock.now()
      if (now - writtenAt < (output.isTerminal ? redrawEveryMs : lineEveryMs)) return
      writtenAt = now
      if (!output.isTerminal) {
        void output.write(`${title}: ${describe(done, words)}\n`)
        return
      }
      const bar = total === undefined ? '' : `${barOf(shareOf(done, total))} `
      const room = Math.max(0, output.columns - title.length - (bar === '' ? 0 : barCells + 1) - 2)
      void output.write(`\r\x1b[K${title} ${bar}${describe(done, words).slice(0, room)}`)
      drawn = true
    },
    end() {
      if (drawn) void output.write('\r\x1b[K')
      drawn = false
    },
  }
}

function shareOf(done: number, total: number): number {
  return total <= 0 ? 1 : Math.min(1, done / total)
}

function barOf(share: number): string {
  const full = Math.floor(share * barCells)
  return '█'.repeat(full) + '░'.repeat(barCells - full)
}
