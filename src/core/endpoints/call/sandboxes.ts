import { setImmediate as giveWay } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { TimeLimit } from '../../base/clock.ts'
import { queryTimeout } from '../../base/errors.ts'
import type { Engine, Limits } from '../../engine/engine.ts'
import type { Endpoint } from '../definition/endpoint.ts'
import type { CompiledQuery } from '../definition/parameters.ts'
import { compileSandboxed, describeViews, maxCheckMs, type SandboxView } from '../definition/sandbox.ts'

/** Sandbox endpoints with a caller's SQL in them. SQL that was checked is remembered. */
export class Sandboxes {
  readonly #engine: Engine
  readonly #checkMs: number
  readonly #compiled: LRUCache<string, { from: CompiledQuery; endpoint: Endpoint }>

  /** Resolves when the event loop has served others since the last text was read. */
  #mayRead: Promise<unknown> = Promise.resolve()

  /** By the SQL that they belong to, which changes with typed columns. */
  readonly #views = new WeakMap<CompiledQuery, Promise<readonly SandboxView[]>>()

  constructor(engine: Engine, maxBytes: number, checkMs = maxCheckMs) {
    this.#engine = engine
    this.#checkMs = checkMs
    this.#compiled = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ endpoint }, key) => key.length + compiledBytes(endpoint),
    })
  }

  /** Memory of what is remembered, roughly. */
  get bytes(): number {
    return this.#compiled.calculatedSize
  }

  /** Checks the caller's SQL within the time limit of the call. */
  async compile(
    endpoint: Endpoint,
    sql: string,
    limit: TimeLimit,
    limitsOf: (limit: TimeLimit) => Limits,
  ): Promise<Endpoint> {
    const from = endpoint.compiled
    const key = JSON.stringify([endpoint.definition.id, endpoint.version, sql])
    const known = this.#compiled.get(key)
    if (known?.from === from) return known.endpoint
    let limitMs = limit.ms
    const limits = (): Limits => {
      const left = limitsOf(limit)
      limitMs = left.deadlineMs > this.#checkMs ? this.#checkMs : limit.ms
      return { ...left, deadlineMs: Math.min(this.#checkMs, left.deadlineMs) }
    }
    this.#mayRead = this.#mayRead.then(() => giveWay())
    await this.#mayRead
    const compiled = await compileSandboxed(this.#engine, endpoint, sql, limits).catch((error) => {
      // Report the limit that applied, not what was left of it.
      throw queryTimeout.is(error) ? queryTimeout(limitMs / 1000) : error
    })
    this.#compiled.set(key, { from, endpoint: compiled })
    return compiled
  }

  views(endpoint: Endpoint): Promise<readonly SandboxView[]> {
    const { compiled } = endpoint
    const known = this.#views.get(compiled)
    if (known) return known
    const views = describeViews(this.#engine, endpoint)
    this.#views.set(compiled, views)
    views.catch(() => this.#views.delete(compiled))
    return views
  }
}

/** Characters of a text in UTF-16, words in a set and columns. */
function compiledBytes({ compiled, columns }: Endpoint): number {
  return 1_000 + 2 * compiled.sql.length + 100 * (compiled.possibleSources.size + columns.length)
}
