import type { EngineSession } from './session.ts'
import { quote } from './statement.ts'

/** How long until a stop is repeated: the query may not have been registered yet at the first. */
const repeatMs = 50

/** Stops queries by their tags, from a session of its own, until each of them has really ended. */
export class QueryKiller {
  readonly #open: () => Promise<EngineSession>
  readonly #tags = new Set<string>()
  #session: EngineSession | undefined
  #running = false

  constructor(open: () => Promise<EngineSession>) {
    this.#open = open
  }

  kill(tag: string): void {
    this.#tags.add(tag)
    if (!this.#running) void this.#run()
  }

  ended(tag: string): void {
    this.#tags.delete(tag)
  }

  async #run(): Promise<void> {
    this.#running = true
    while (this.#tags.size > 0) {
      try {
        this.#session ??= await this.#open()
        const tags = [...this.#tags].map(quote).join(', ')
        // SYNC never returns in the embedded engine; ASYNC marks the queries, which then stop by themselves.
        await this.#session.run(`KILL QUERY WHERE Settings['log_comment'] IN (${tags}) ASYNC`, 'Null')
      } catch {
        // Out of memory, perhaps; the next try has a session of its own.
        this.#session?.close()
        this.#session = undefined
      }
      await new Promise((resolve) => setTimeout(resolve, repeatMs))
    }
    this.#running = false
  }

  close(): void {
    this.#tags.clear()
    this.#session?.close()
  }
}
