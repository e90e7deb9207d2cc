import type { CommandIo } from '../command-io.ts'
import { formatBytes } from './format-amount.ts'

export interface Progress {
  /** Sets how many bytes are done. */
  update(done: number, note?: string): void
  /** Removes the bar. */
  end(): void
}

const redrawEveryMs = 100
const lineEveryMs = 10_000
const barCells = 24

/** Shows a bar on a terminal; elsewhere writes a line every ten seconds, for the log of a long job. */
export function startProgress(
  title: string,
  /** Undefined if unknown. */
  totalBytes: number | undefined,
  { stderr: output, clock }: Pick<CommandIo, 'stderr' | 'clock'>,
): Progress {
  const startedAt = clock.now()
  let writtenAt = output.isTerminal ? Number.NEGATIVE_INFINITY : startedAt
  let isDrawn = false
  return {
    update(done, note = '') {
      const now = clock.now()
      if (now - writtenAt < (output.isTerminal ? redrawEveryMs : lineEveryMs)) return
      writtenAt = now
      const share = totalBytes === undefined ? undefined : shareOf(done, totalBytes)
      const seconds = (now - startedAt) / 1000
      const text = [
        share === undefined
          ? formatBytes(done)
          : `${formatBytes(done)} of ${formatBytes(totalBytes ?? 0)}, ${Math.floor(share * 100)} %`,
        seconds >= 1 ? `${formatBytes(done / seconds)}/s` : '',
        note,
      ]
        .filter((part) => part !== '')
        .join(', ')
      if (!output.isTerminal) {
        void output.write(`${title}: ${text}\n`)
        return
      }
      const bar = share === undefined ? '' : `${barOf(share)} `
      const room = Math.max(0, output.columns - title.length - bar.length - 2)
      void output.write(`\r\x1b[K${title} ${bar}${text.slice(0, room)}`)
      isDrawn = true
    },
    end() {
      if (isDrawn) void output.write('\r\x1b[K')
      isDrawn = false
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
