import type { EngineSession } from './session.ts'
import { quote } from './statement.ts'

/** How long until a stop is repeated: the query may not have been registered yet at the first. */
const repeatMs = 50

/** Stops queries by their tags, from a session of its own, until each of them has really ended. */
export class QueryKiller {
  readonly #open: () => Promise<EngineSession>
  readonly #tags = new Set<string>()
  #session: EngineSession
  #running = false

  constructor(session: EngineSession, open: () => Promise<EngineSession>) {
    this.#session = session
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
        const tags = [...this.#tags].map(quote).join(', ')
        // SYNC never returns in the embedded engine; ASYNC marks the queries, which then stop by themselves.
        await this.#session.run(`KILL QUERY WHERE Settings['log_comment'] IN (${tags}) ASYNC`, 'Null')
      } catch {
        // Out of memory, perhaps; the next try has a session of its own.
        await this.#replaceSession()
      }
      await new Promise((resolve) => setTimeout(resolve, repeatMs))
    }
    this.#running = false
  }

  async #replaceSession(): Promise<void> {
    const failed = this.#session
    try {
      this.#session = await this.#open()
      void failed.close()
    } catch {
      // Its output is not looked at, so even a session in which something failed can stop a query.
    }
  }

  close(): void {
    this.#tags.clear()
    void this.#session.close()
  }
}
