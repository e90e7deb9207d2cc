import { open, readFile, rename, stat } from 'node:fs/promises'
import { z } from 'zod'
import type { Timers } from '../base/clock.ts'

const hotKeyShape = z.object({
  /** From which the request can be made again. */
  recipe: z.unknown(),
  lastAskedMs: z.number(),
  heat: z.number(),
})

export type HotKey = z.infer<typeof hotKeyShape>

const fileShape = z.object({ version: z.literal(1), keys: z.array(hotKeyShape) })

export interface HotKeysFileOptions {
  path: string
  time: Timers
  /** Written at most so often, beside once at the end. */
  everyMs: number
  /** So many keys are kept. */
  maxKeys: number
  /** A larger file is not read, and keys beyond it are not written. */
  maxBytes: number
  /** The keys as they are now, the hottest first. */
  read: (limit: number) => HotKey[]
  /** Hot keys are a help, not a promise: that they could not be kept stops nothing. */
  onFailure: (error: unknown) => void
}

/** Which keys are hot, for the next start. It holds parameters of callers, so only its owner may read it. */
export class HotKeysFile {
  readonly #options: HotKeysFileOptions
  #written = ''
  #writing: Promise<void> = Promise.resolve()
  #cancelTimer: () => void = () => {}
  #started = false
  #stopped = false

  constructor(options: HotKeysFileOptions) {
    this.#options = options
  }

  /** What the last run left; nothing where there is no file, or none that can be read. */
  async load(): Promise<HotKey[]> {
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
      const file = await open(temporary, 'w', 0o600)
      try {
        await file.chmod(0o600)
        await file.writeFile(text)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(temporary, path)
      this.#written = text
    } catch (error) {
      onFailure(error)
    }
  }
}

/** As many of the hottest as fit. */
function textOf(keys: HotKey[], maxBytes: number): string {
  const lines: string[] = []
  let left = maxBytes - 64
  for (const key of keys) {
    const line = JSON.stringify(key)
    left -= Buffer.byteLength(line) + 2
    if (left < 0) break
    lines.push(line)
  }
  return `{"version":1,"keys":[\n${lines.join(',\n')}\n]}\n`
}
