import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Service, startService } from '../app.ts'
import { systemTime } from '../base/clock.ts'
import type { ErrorDetails } from '../base/errors.ts'
import { createLog } from '../base/log.ts'
import { readSettings, type Settings } from '../base/settings.ts'
import type { NewSource } from '../catalog/source.ts'
import type { EndpointDefinition } from '../endpoints/definition/definition.ts'
import { engineDatabase } from '../sql/names.ts'
import { type FixtureFile, loadingTimeMs } from './fixture-file.ts'
import type { EndpointTest } from './test-file.ts'

export interface WorkbenchOptions {
  environment: Readonly<Record<string, string | undefined>>
  /** Node executable of the engine process where the environment names none. */
  node: string
}

export interface BenchAnswer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: whoever asked knows what to look for.
  body: any
}

export interface BenchError extends ErrorDetails {
  code: string
  message: string
}

/** What the engine of a machine needs to be told; everything else of its environment is of another service. */
const taken = ['WELLHEAD_ENGINE_MEMORY', 'WELLHEAD_ENGINE_NODE', 'WELLHEAD_ENGINE_PATIENCE'] as const

const limits = { deadlineMs: 60_000 }

/**
 * A whole service with an engine of its own in a temporary directory, whose time is what it is told to be. It is
 * called without a network, and nothing of it is left.
 */
export class Workbench {
  readonly #service: Pick<Service, 'http' | 'engine' | 'adminToken'>
  readonly #setTime: (nowMs: number) => void
  readonly #release: () => Promise<void>
  readonly #tokens = new Map<string, string>()
  /** Sources that have entries. */
  readonly #filled = new Set<string>()
  /** Sources whose entries stay, however old they are by the clock of the machine. */
  readonly #kept = new Set<string>()

  /** Works with a service that somebody else has opened, and whose time can be set. */
  constructor(
    service: Pick<Service, 'http' | 'engine' | 'adminToken'>,
    setTime: (nowMs: number) => void,
    release: () => Promise<void> = async () => {},
  ) {
    this.#service = service
    this.#setTime = setTime
    this.#release = release
  }

  static async open(options: WorkbenchOptions): Promise<Workbench> {
    const directory = mkdtempSync(join(tmpdir(), 'wellhead-'))
    const remove = () => rmSync(directory, { recursive: true, force: true })
    let now = loadingTimeMs
    try {
      const settings = settingsFor(options, directory)
      const service = await startService({
        settings,
        time: systemTime({ now: () => now }),
        log: createLog(settings.logLevel),
        node: options.node,
        environment: options.environment,
        shipped: [],
      })
      const setTime = (nowMs: number) => {
        now = nowMs
      }
      return new Workbench(service, setTime, () => service.stop().finally(remove))
    } catch (error) {
      remove()
      throw error
    }
  }

  close(): Promise<void> {
    return this.#release()
  }

  makeSource(source: NewSource): Promise<BenchError | undefined> {
    return this.#refusal('/api/sources', source)
  }

  /** What saving the endpoint would refuse. */
  check(definition: EndpointDefinition): Promise<BenchError | undefined> {
    return this.#refusal('/api/deployments', { endpoints: [definition], dry_run: true })
  }

  /** Saves the endpoint without its cache: what a call gets must come from the entries alone. */
  async save(definition: EndpointDefinition): Promise<BenchError | undefined> {
    const uncached = { ...definition, cache_seconds: null, warm_seconds: null, incremental: null }
    return this.#refusal('/api/deployments', { endpoints: [uncached] })
  }

  /** Has these entries in the sources, and no others. */
  async load(files: readonly FixtureFile[]): Promise<void> {
    for (const source of this.#filled) {
      await this.#command(`TRUNCATE TABLE ${engineDatabase}.\`${source}\``)
    }
    this.#filled.clear()
    for (const { source: given, lines } of files) {
      const { name } = (await this.#ask('GET', `/api/sources/${encodeURIComponent(given)}`)).body
      if (!this.#kept.has(name)) {
        await this.#command(`TRUNCATE TABLE ${engineDatabase}.\`${name}\``)
        await this.#command(`ALTER TABLE ${engineDatabase}.\`${name}\` REMOVE TTL`)
        this.#kept.add(name)
      }
      this.#filled.add(name)
      await this.#insert(name, lines)
    }
  }

  /** Calls an endpoint as its test says, at the time that the test says it is. */
  async call(test: EndpointTest): Promise<BenchAnswer> {
    const token = test.token && (await this.#tokenFor(test.token))
    const path = `/api/endpoints/query/${encodeURIComponent(test.endpoint)}`
    return this.#ask('POST', path, test.parameters, { nowMs: test.nowMs, token })
  }

  async #tokenFor(fields: object): Promise<string> {
    const key = JSON.stringify(fields)
    const known = this.#tokens.get(key)
    if (known !== undefined) return known
    const made = await this.#ask('POST', '/api/access-tokens', { scopes: ['query'], ...fields })
    if (made.status !== 201) throw new Error(`A token cannot be made: ${made.body.error.message}`)
    this.#tokens.set(key, made.body.token)
    return made.body.token
  }

  /** Past the intake, which would reject entries that are older than the retention of their source. */
  async #insert(source: string, rows: readonly Buffer[]): Promise<void> {
    await this.#service.engine.insert(
      {
        table: `${engineDatabase}.${source}`,
        format: 'JSONEachRow',
        settings: { max_partitions_per_insert_block: 0 },
      },
      Buffer.concat(rows),
      limits,
    )
  }

  async #refusal(path: string, given: unknown): Promise<BenchError | undefined> {
    const { status, body } = await this.#ask('POST', path, given)
    if (status < 300) return undefined
    if (status >= 500) throw new Error(`The engine cannot be asked: ${body.error.message}`)
    return body.error
  }

  async #ask(
    method: 'GET' | 'POST',
    url: string,
    body?: unknown,
    { nowMs = loadingTimeMs, token }: { nowMs?: number; token?: string | undefined } = {},
  ): Promise<BenchAnswer> {
    this.#setTime(nowMs)
    const isText = typeof body === 'string'
    const answer = await this.#service.http.inject({
      method,
      url,
      headers: {
        'x-api-key': token ?? this.#service.adminToken.token,
        ...(body !== undefined && { 'content-type': isText ? 'application/x-ndjson' : 'application/json' }),
      },
      ...(body !== undefined && { payload: isText ? body : JSON.stringify(body) }),
    })
    return { status: answer.statusCode, body: JSON.parse(answer.payload) }
  }

  #command(sql: string): Promise<unknown> {
    return this.#service.engine.command({ sql }, limits)
  }
}

function settingsFor({ environment }: WorkbenchOptions, directory: string): Settings {
  const reading = readSettings({
    ...Object.fromEntries(taken.map((name) => [name, environment[name]])),
    WELLHEAD_PORT: '0',
    WELLHEAD_DATA_DIR: directory,
    WELLHEAD_LOG_LEVEL: 'silent',
    WELLHEAD_DISK_RESERVE: '0',
    // The only calls in the source of calls are those of the fixtures.
    WELLHEAD_STATISTICS: 'off',
  })
  if ('problems' in reading) throw new Error(reading.problems.join('\n'))
  return reading.settings
}

/** As much as one request may hold. */
