import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import type { Timers } from '../base/clock.ts'

/** The recipe is JSON from which the request can be rebuilt. */
const keyShape = z.object({ recipe: z.unknown(), lastUsedMs: z.number(), uses: z.number() })
const fileShape = z.object({ version: z.literal(2), keys: z.array(keyShape) })

export type WarmKey = z.output<typeof keyShape>

export interface WarmKeysFileOptions {
  path: string
  time: Timers
  everyMs: number
  maxKeys: number
  /** A larger file is not read, and keys that do not fit are not written. */
  maxBytes: number
  /** The current keys, the most used first. */
  read: (limit: number) => WarmKey[]
  onFailure: (error: unknown) => void
}

/** Saves the keys to warm at the next start. They hold parameters of callers, so only the owner can read the file. */
export class WarmKeysFile {
  readonly #options: WarmKeysFileOptions
  #written = ''
  #writing: Promise<void> = Promise.resolve()
  #cancelTimer: () => void = () => {}
  #started = false
  #stopped = false

  constructor(options: WarmKeysFileOptions) {
    this.#options = options
  }

  async load(): Promise<WarmKey[]> {
    const { path, maxBytes, maxKeys, onFailure } = this.#options
    try {
      const { size } = await stat(path)
      if (size > maxBytes) throw new Error(`${path} is larger than ${maxBytes} bytes.`)
      const { keys } = fileShape.parse(JSON.parse(await readFile(path, 'utf8')))
      return keys.slice(0, maxKeys)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') onFailure(error)
      return []
    }
  }

  start(): void {
    if (this.#stopped) return
    this.#started = true
    this.#cancelTimer = this.#options.time.after(this.#options.everyMs, async () => {
      await this.save()
      if (!this.#stopped) this.start()
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer()
    if (this.#started) await this.save()
  }

  save(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write())
    return this.#writing
  }

  async #write(): Promise<void> {
    const { path, maxKeys, maxBytes, read, onFailure } = this.#options
    try {
      const text = textOf(read(maxKeys), maxBytes)
      if (text === this.#written) return
      const temporary = `${path}.new`
      // The mode applies to new files only.
      await rm(temporary, { force: true })
      await writeFile(temporary, text, { mode: 0o600, flush: true })
      await rename(temporary, path)
      this.#written = text
    } catch (error) {
      onFailure(error)
    }
  }
}

/** As many of the most used keys as fit. */
function textOf(keys: WarmKey[], maxBytes: number): string {
  const lines: string[] = []
  let left = maxBytes - 64
  for (const key of keys) {
    const line = JSON.stringify(key)
    left -= Buffer.byteLength(line) + 2
    if (left < 0) break
    lines.push(line)
  }
  return `{"version":2,"keys":[\n${lines.join(',\n')}\n]}\n`
}
