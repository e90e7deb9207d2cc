import type { CommandIo } from '../command-io.ts'
import { formatBytes } from './format-amount.ts'

const redrawEveryMs = 100
const lineEveryMs = 10_000
const barCells = 24

/** Shows a bar on a terminal; elsewhere writes a line every ten seconds, for the log of a long job. */
export class Progress {
  /** Undefined while unknown. */
  totalBytes: number | undefined
  note = ''
  readonly #title: string
  readonly #io: Pick<CommandIo, 'stderr' | 'clock'>
  readonly #startedAt: number
  #writtenAt: number
  #doneBytes = 0
  #isDrawn = false

  constructor(title: string, io: Pick<CommandIo, 'stderr' | 'clock'>) {
    this.#title = title
    this.#io = io
    this.#startedAt = io.clock.now()
    this.#writtenAt = io.stderr.isTerminal ? Number.NEGATIVE_INFINITY : this.#startedAt
  }

  add(bytes: number): void {
    this.#doneBytes += bytes
    const { clock, stderr } = this.#io
    const now = clock.now()
    if (now - this.#writtenAt < (stderr.isTerminal ? redrawEveryMs : lineEveryMs)) return
    this.#writtenAt = now
    const text = this.#text((now - this.#startedAt) / 1000)
    if (!stderr.isTerminal) {
      void stderr.write(`${this.#title}: ${text}\n`)
      return
    }
    const full = Math.floor((this.#share() ?? 0) * barCells)
    const bar = this.#share() === undefined ? '' : `${'█'.repeat(full)}${'░'.repeat(barCells - full)} `
    const room = Math.max(0, stderr.columns - this.#title.length - bar.length - 2)
    void stderr.write(`\r\x1b[K${this.#title} ${bar}${text.slice(0, room)}`)
    this.#isDrawn = true
  }

  end(): void {
    if (this.#isDrawn) void this.#io.stderr.write('\r\x1b[K')
    this.#isDrawn = false
  }

  #share(): number | undefined {
    if (this.totalBytes === undefined) return undefined
    return this.totalBytes <= 0 ? 1 : Math.min(1, this.#doneBytes / this.totalBytes)
  }

  #text(seconds: number): string {
    const share = this.#share()
    const total =
      share === undefined ? '' : ` of ${formatBytes(this.totalBytes ?? 0)}, ${Math.floor(share * 100)} %`
    const speed = seconds < 1 ? '' : `, ${formatBytes(this.#doneBytes / seconds)}/s`
    return `${formatBytes(this.#doneBytes)}${total}${speed}${this.note && `, ${this.note}`}`
  }
}
