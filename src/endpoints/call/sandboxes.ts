import { queryTimeout } from '../../base/errors.ts'
import type { Blame, Engine, Limits } from '../../engine/engine.ts'
import type { Endpoint } from '../definition/endpoint.ts'
import type { CompiledQuery } from '../definition/parameters.ts'
import { compileSandboxed, maxCheckMs } from '../definition/sandbox.ts'

type Sent = Readonly<Record<string, string>>

/** The endpoint that a call runs: in a sandbox, the one with the caller's SQL in it. Checked SQL is remembered. */
export class Sandboxes {
  readonly #engine: Engine
  readonly #maxKnown: number
  readonly #known = new Map<string, { from: CompiledQuery; endpoint: Endpoint }>()

  constructor(engine: Engine, maxKnown: number) {
    this.#engine = engine
    this.#maxKnown = maxKnown
  }

  /** Undefined where there is SQL of a caller that has to be looked at first. */
  known(endpoint: Endpoint, sent: Sent): Endpoint | undefined {
    const sql = sqlOf(endpoint, sent)
    if (sql === undefined) return endpoint
    const key = keyOf(endpoint, sql)
    const known = this.#known.get(key)
    if (!known || known.from !== endpoint.compiled) return undefined
    // The one that was used last goes last.
    this.#known.delete(key)
    this.#known.set(key, known)
    return known.endpoint
  }

  /** Checks the caller's SQL within the time that the endpoint has. */
  async compile(endpoint: Endpoint, sent: Sent, blame: readonly Blame[]): Promise<Endpoint> {
    const known = this.known(endpoint, sent)
    if (known) return known
    const sql = sqlOf(endpoint, sent) ?? ''
    const from = endpoint.compiled
    const { timeout_seconds: timeoutSeconds } = endpoint.definition
    const since = performance.now()
    const limits = (): Limits => {
      const leftMs = timeoutSeconds * 1000 - (performance.now() - since)
      if (leftMs <= 0) throw queryTimeout(timeoutSeconds)
      return { deadlineMs: Math.min(maxCheckMs, leftMs), blame }
    }
    const compiled = await compileSandboxed(this.#engine, endpoint, sql, limits).catch((error) => {
      // The statement that was stopped had what was left.
      throw queryTimeout.is(error) ? queryTimeout(timeoutSeconds) : error
    })
    this.#known.set(keyOf(endpoint, sql), { from, endpoint: compiled })
    const [oldest] = this.#known.keys()
    if (this.#known.size > this.#maxKnown && oldest !== undefined) this.#known.delete(oldest)
    return compiled
  }
}

/** The caller's SQL, where the endpoint takes any. */
export function sqlOf({ definition }: Endpoint, sent: Sent): string | undefined {
  return definition.sandbox && Object.hasOwn(sent, 'sql') ? sent.sql : undefined
}

function keyOf({ definition, version }: Endpoint, sql: string): string {
  return JSON.stringify([definition.id, version, sql])
}
