import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ServiceOptions } from '../app/service-options.ts'
import { type Service, startService } from '../app.ts'
import { systemTime } from '../base/clock.ts'
import type { ErrorDetails } from '../base/errors.ts'
import { createLog } from '../base/log.ts'
import { engineVariables, readSettings, type Settings } from '../base/settings.ts'
import type { NewSource } from '../catalog/source.ts'
import type { EndpointDefinition } from '../endpoints/definition/definition.ts'
import type { DeployedEndpoint } from '../endpoints/manage/deployments.ts'
import { type FixtureFile, loadingTimeMs } from './fixture-file.ts'
import type { EndpointTest } from './test-file.ts'

export interface BenchResponse {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: the shape depends on the request.
  body: any
}

export interface BenchError extends ErrorDetails {
  code: string
  message: string
}

type BenchService = Pick<Service, 'http' | 'engine' | 'adminToken'>

const limits = { deadlineMs: 60_000 }

/** A temporary service with its own engine and a settable clock. It uses no network and leaves no files. */
export class Workbench {
  readonly #service: BenchService
  readonly #setTime: (nowMs: number) => void
  readonly #release: () => Promise<void>
  readonly #tokens = new Map<string, string>()
  readonly #filled = new Set<string>()
  /** Sources whose entries do not expire. */
  readonly #permanent = new Set<string>()

  constructor(
    service: BenchService,
    setTime: (nowMs: number) => void,
    release: () => Promise<void> = async () => {},
  ) {
    this.#service = service
    this.#setTime = setTime
    this.#release = release
  }

  static async open({ environment, node }: Pick<ServiceOptions, 'environment' | 'node'>): Promise<Workbench> {
    const directory = mkdtempSync(join(tmpdir(), 'wellhead-'))
    const remove = () => rmSync(directory, { recursive: true, force: true })
    let now = loadingTimeMs
    try {
      const settings = settingsFor(environment, directory)
      const service = await startService({
        settings,
        time: systemTime({ now: () => now }),
        log: createLog(settings.logLevel),
        node,
        environment,
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

  createSource(source: NewSource): Promise<BenchError | undefined> {
    return this.#errorOf('/api/sources', source)
  }

  /** The error that saving the endpoint would return, or what a service would know about it. */
  async check(definition: EndpointDefinition): Promise<{ error: BenchError } | DeployedEndpoint> {
    const content = { endpoints: [definition], dry_run: true }
    const { error, body } = await this.#post('/api/deployments', content)
    return error ? { error } : body.endpoints[0]
  }

  /** The error that saving the alert would return. Targets are not resolved, since that takes a network. */
  async checkAlert(
    fields: object,
    endpoint: EndpointDefinition | undefined,
  ): Promise<BenchError | undefined> {
    const error = endpoint && (await this.save(endpoint))
    // The endpoint was checked before.
    return error ? undefined : this.#errorOf('/api/alerts', { ...fields, notify: [], enabled: false })
  }

  /** Saves the endpoint without its cache, so that results depend on the entries alone. */
  save(definition: EndpointDefinition): Promise<BenchError | undefined> {
    const uncached = { ...definition, cache_seconds: null, warm_seconds: null, incremental: null }
    return this.#errorOf('/api/deployments', { endpoints: [uncached] })
  }

  /** Replaces all entries by those of the files. */
  async load(files: readonly FixtureFile[]): Promise<void> {
    for (const name of this.#filled) await this.#truncate(name)
    this.#filled.clear()
    for (const { source, lines } of files) {
      const { name } = (await this.#request('GET', `/api/sources/${encodeURIComponent(source)}`)).body
      if (!this.#permanent.has(name)) {
        await this.#truncate(name)
        await this.#command(`ALTER TABLE \`${name}\` REMOVE TTL`)
        this.#permanent.add(name)
      }
      this.#filled.add(name)
      await this.#insert(name, lines)
    }
  }

  /** Sends the request of a test at the time that the test sets. */
  async call(test: EndpointTest): Promise<BenchResponse> {
    const token = test.token && (await this.#tokenFor(test.token))
    const path = `/api/endpoints/query/${encodeURIComponent(test.endpoint)}`
    return this.#request('POST', path, test.parameters, { nowMs: test.nowMs, token })
  }

  async #tokenFor(fields: object): Promise<string> {
    const key = JSON.stringify(fields)
    const existing = this.#tokens.get(key)
    if (existing !== undefined) return existing
    const { status, body } = await this.#request('POST', '/api/access-tokens', {
      scopes: ['query'],
      ...fields,
    })
    if (status !== 201) throw new Error(`Cannot create a token: ${body.error.message}`)
    this.#tokens.set(key, body.token)
    return body.token
  }

  /** Bypasses the intake, which rejects entries that are older than the retention of their source. */
  async #insert(source: string, rows: readonly Buffer[]): Promise<void> {
    const insert = {
      table: source,
      format: 'JSONEachRow',
      settings: { max_partitions_per_insert_block: 0 },
    } as const
    await this.#service.engine.insert(insert, Buffer.concat(rows), limits)
  }

  async #errorOf(path: string, content: unknown): Promise<BenchError | undefined> {
    return (await this.#post(path, content)).error
  }

  async #post(path: string, content: unknown) {
    const { status, body } = await this.#request('POST', path, content)
    if (status >= 500) throw new Error(`The engine does not respond: ${body.error.message}`)
    return { body, error: status < 300 ? undefined : (body.error as BenchError) }
  }

  async #request(
    method: 'GET' | 'POST',
    url: string,
    body?: unknown,
    { nowMs = loadingTimeMs, token }: { nowMs?: number; token?: string | undefined } = {},
  ): Promise<BenchResponse> {
    this.#setTime(nowMs)
    const response = await this.#service.http.inject({
      method,
      url,
      headers: {
        'x-api-key': token ?? this.#service.adminToken.token,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { payload: JSON.stringify(body) }),
    })
    return { status: response.statusCode, body: JSON.parse(response.payload) }
  }

  #truncate(source: string): Promise<unknown> {
    return this.#command(`TRUNCATE TABLE \`${source}\``)
  }

  #command(sql: string): Promise<unknown> {
    return this.#service.engine.command({ sql }, limits)
  }
}

function settingsFor(environment: ServiceOptions['environment'], directory: string): Settings {
  const reading = readSettings({
    ...engineVariables(environment),
    WELLHEAD_PORT: '0',
    WELLHEAD_DATA_DIR: directory,
    WELLHEAD_LOG_LEVEL: 'silent',
    WELLHEAD_DISK_RESERVE: '0',
    // The source of call statistics has only the entries of the fixtures.
    WELLHEAD_STATISTICS: 'off',
  })
  if ('problems' in reading) throw new Error(reading.problems.join('\n'))
  return reading.settings
}
