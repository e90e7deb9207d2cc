import type { EngineSession } from './session.ts'
import { quote } from './statement.ts'

/** The first KILL may come before its query is registered, so it is repeated. */
const repeatMs = 50

/** Stops queries by their tags from a session of its own. Repeats the KILL until each query has ended. */
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
        // SYNC never returns in the embedded engine.
        await this.#session.run(`KILL QUERY WHERE Settings['log_comment'] IN (${tags}) ASYNC`, 'Null')
      } catch {
        const failed = this.#session
        // Even a spoiled session can stop queries, because nobody reads its output.
        this.#session = await this.#open().catch(() => failed)
        if (this.#session !== failed) void failed.close()
      }
      await new Promise((resolve) => setTimeout(resolve, repeatMs))
    }
    this.#running = false
  }

  close(): void {
    this.#tags.clear()
    void this.#session.close()
  }
}
