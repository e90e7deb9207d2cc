import { askEngine } from '../../test/support/ask-engine.ts'
import type { Dice } from '../fuzz/dice.ts'
import type { Target } from '../support/target.ts'

const expiring = 'expiring_logs'
const passing = 'passing_logs'
const dayMs = 86_400_000
const retentions = { long: 90, short: 5 }
const oldDays = 10

/** Entries that a backup which begins now must and must not contain. */
export interface SourceExpectation {
  source: string
  ids: string[]
  /** Entries of deleted sources. */
  gone: string[]
}

/** Changes tables around a backup: merges, expiry, filling a column, deleting a source and creating it again. */
export class ChangingTables {
  readonly #target: Target
  readonly #dice: Dice
  #round = 0
  /** Acknowledged entries that have not expired. */
  readonly #lasting: string[] = []
  /** Entries of the current source and of deleted ones. */
  #passing: string[] = []
  readonly #gone: string[] = []

  constructor(target: Target, dice: Dice) {
    this.#target = target
    this.#dice = dice
  }

  async open(): Promise<void> {
    for (const name of [expiring, passing]) await this.#send('POST', '/api/sources', { name })
  }

  /** Runs before a backup begins. */
  async prepare(): Promise<void> {
    this.#round++
    await this.#changeRetention(retentions.long)
    const old = new Date(Date.now() - oldDays * dayMs).toISOString()
    const fresh = this.#ids('lasting')
    await this.#sendEntries(expiring, [
      ...this.#ids('old').map((id) => ({ id, timestamp: old })),
      ...fresh.map((id) => ({ id })),
    ])
    this.#lasting.push(...fresh)
    const passed = this.#ids('passing')
    await this.#sendEntries(
      passing,
      passed.map((id) => ({ id })),
    )
    this.#passing.push(...passed)
    // Half of the time these changes begin before the backup; `disturb` begins them during it.
    if (this.#dice.percent(50)) await this.#changeRetention(retentions.short)
    if (this.#dice.percent(50)) await this.#fillColumn()
  }

  expected(): SourceExpectation[] {
    return [
      { source: expiring, ids: [...this.#lasting], gone: [] },
      { source: passing, ids: [...this.#passing], gone: [...this.#gone] },
    ]
  }

  /** Runs during a backup. `deleted` says whether the source was deleted. */
  async disturb(): Promise<{ deleted: boolean }> {
    const deleted = this.#dice.percent(50)
    await Promise.all([
      this.#ask('OPTIMIZE TABLE wellhead.edge_logs FINAL'),
      this.#changeRetention(retentions.short),
      this.#fillColumn(),
      ...(deleted ? [this.#deleteAndMakeAgain()] : []),
    ])
    return { deleted }
  }

  async #deleteAndMakeAgain(): Promise<void> {
    this.#gone.push(...this.#passing)
    this.#passing = []
    await this.#send('DELETE', `/api/sources/${passing}?confirm=${passing}`)
    await this.#send('POST', '/api/sources', { name: passing })
  }

  /** In the engine: a shorter retention of the source would hide entries at once, and delete them days later. */
  async #changeRetention(days: number): Promise<void> {
    const ttl = `toDateTime(timestamp) + INTERVAL ${days} DAY DELETE`
    await this.#ask(`ALTER TABLE wellhead.${expiring} MODIFY TTL ${ttl} SETTINGS mutations_sync = 0`)
  }

  async #fillColumn(): Promise<void> {
    const column = `filled_${this.#round}`
    await this.#ask(
      `ALTER TABLE wellhead.edge_logs ADD COLUMN IF NOT EXISTS ${column} String MATERIALIZED concat(id, '!')`,
    )
    await this.#ask(`ALTER TABLE wellhead.edge_logs MATERIALIZE COLUMN ${column} SETTINGS mutations_sync = 0`)
  }

  #ids(what: string): string[] {
    return Array.from({ length: 3 }, (_, i) => `${what}-${this.#round}-${i}`)
  }

  async #sendEntries(source: string, entries: object[]): Promise<void> {
    const answer = await this.#target.json<{ accepted: number }>(`/api/logs?source=${source}`, {
      method: 'POST',
      body: JSON.stringify(entries.map((entry) => ({ project: 'changing', ...entry }))),
    })
    if (answer.accepted !== entries.length) throw new Error(`${source}: ${JSON.stringify(answer)}`)
  }

  async #send(method: string, path: string, body?: object): Promise<void> {
    const response = await this.#target.call(path, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  }

  #ask(sql: string): Promise<string> {
    return askEngine(this.#target.dataDir, sql)
  }
}

/** Compares these sources and the filled columns of a restored service with what is expected. */
export async function faultsOfRestored(
  restored: Target,
  expected: readonly SourceExpectation[],
  deletedMeanwhile: boolean,
): Promise<string[]> {
  const faults: string[] = []
  for (const { source, ids, gone } of expected) {
    const mayBeLost = source === passing && deletedMeanwhile
    const counted = `SELECT id, toString(count()) FROM wellhead.${source} GROUP BY id`
    const table = await askEngine(restored.dataDir, counted).catch((error) => {
      if (!mayBeLost) throw error
      return ''
    })
    const found = new Map(
      table
        .split('\n')
        .filter(Boolean)
        .map((line) => line.split('\t') as [string, string]),
    )
    const lost = ids.filter((id) => !found.has(id))
    if (lost.length > 0 && !mayBeLost) faults.push(`${source}: ${lost.join(', ')} not restored`)
    for (const [id, times] of found)
      if (times !== '1') faults.push(`${source}: ${id} restored ${times} times`)
    for (const id of gone) if (found.has(id)) faults.push(`${source}: ${id} restored from a deleted source`)
  }
  const columns = await askEngine(
    restored.dataDir,
    "SELECT name FROM system.columns WHERE database = 'wellhead' AND table = 'edge_logs' AND name LIKE 'filled%'",
  )
  for (const column of columns.split('\n').filter(Boolean)) {
    const wrong = `SELECT countIf(${column} != concat(id, '!')) FROM wellhead.edge_logs`
    const count = (await askEngine(restored.dataDir, wrong)).trim()
    if (count !== '0') faults.push(`${column} is wrong in ${count} entries`)
  }
  return faults
}
