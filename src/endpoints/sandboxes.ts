import type { Engine } from '../engine/engine.ts'
import type { Endpoint } from './endpoint.ts'
import { compileSandboxed } from './sandbox.ts'

/** The endpoint that a call runs: in a sandbox, the one with the caller's SQL in it. Checked SQL is remembered. */
export class Sandboxes {
  readonly #engine: Engine
  readonly #maxKnown: number
  readonly #known = new Map<string, Promise<Endpoint>>()

  constructor(engine: Engine, maxKnown: number) {
    this.#engine = engine
    this.#maxKnown = maxKnown
  }

  endpointFor(endpoint: Endpoint, parameters: Readonly<Record<string, string>>): Promise<Endpoint> {
    const { id, sandbox } = endpoint.definition
    const sql = Object.hasOwn(parameters, 'sql') ? parameters.sql : undefined
    if (!sandbox || sql === undefined) return Promise.resolve(endpoint)
    const key = JSON.stringify([id, endpoint.version, sql])
    const known = this.#known.get(key)
    if (known) {
      // The one that was used last goes last.
      this.#known.delete(key)
      this.#known.set(key, known)
      return known
    }
    const compiling = compileSandboxed(this.#engine, endpoint, sql)
    this.#known.set(key, compiling)
    compiling.catch(() => this.#known.delete(key))
    const [oldest] = this.#known.keys()
    if (this.#known.size > this.#maxKnown && oldest !== undefined) this.#known.delete(oldest)
    return compiling
  }
}
