import type { Engine } from '../engine/engine.ts'
import type { Endpoint } from './endpoint.ts'
import type { CompiledQuery } from './parameters.ts'
import { compileSandboxed } from './sandbox.ts'

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

  async compile(endpoint: Endpoint, sent: Sent): Promise<Endpoint> {
    const known = this.known(endpoint, sent)
    if (known) return known
    const sql = sqlOf(endpoint, sent) ?? ''
    const from = endpoint.compiled
    const compiled = await compileSandboxed(this.#engine, endpoint, sql)
    this.#known.set(keyOf(endpoint, sql), { from, endpoint: compiled })
    const [oldest] = this.#known.keys()
    if (this.#known.size > this.#maxKnown && oldest !== undefined) this.#known.delete(oldest)
    return compiled
  }
}

function sqlOf({ definition }: Endpoint, sent: Sent): string | undefined {
  return definition.sandbox && Object.hasOwn(sent, 'sql') ? sent.sql : undefined
}

function keyOf({ definition, version }: Endpoint, sql: string): string {
  return JSON.stringify([definition.id, version, sql])
}
