import type { CommandIo } from '../command-io.ts'
import { formatBytes } from './format.ts'

const redrawEveryMs = 100
const lineEveryMs = 10_000

/** Counts bytes in one line of a terminal; elsewhere writes a line every ten seconds, for the log of a long job. */
export class Progress {
  /** Undefined while unknown. */
  totalBytes: number | undefined
  note = ''
  readonly #title: string
  readonly #io: Pick<CommandIo, 'stderr' | 'clock'>
  #writtenAt: number
  #doneBytes = 0
  #isDrawn = false

  constructor(title: string, io: Pick<CommandIo, 'stderr' | 'clock'>) {
    this.#title = title
    this.#io = io
    this.#writtenAt = io.stderr.isTerminal ? Number.NEGATIVE_INFINITY : io.clock.now()
  }

  add(bytes: number): void {
    this.#doneBytes += bytes
    const { clock, stderr } = this.#io
    const now = clock.now()
    if (now - this.#writtenAt < (stderr.isTerminal ? redrawEveryMs : lineEveryMs)) return
    this.#writtenAt = now
    const total = this.totalBytes === undefined ? '' : ` of ${formatBytes(this.totalBytes)}`
    const note = this.note && `, ${this.note}`
    const text = `${this.#title}: ${formatBytes(this.#doneBytes)}${total}${note}`
    this.#isDrawn = stderr.isTerminal
    void stderr.write(stderr.isTerminal ? `\r\x1b[K${text.slice(0, stderr.columns - 1)}` : `${text}\n`)
  }

  end(): void {
    if (this.#isDrawn) void this.#io.stderr.write('\r\x1b[K')
    this.#isDrawn = false
  }
}
