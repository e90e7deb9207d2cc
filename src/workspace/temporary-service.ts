import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ServiceOptions } from '../app/service-options.ts'
import { type Service, startService } from '../app.ts'
import { systemTime } from '../base/clock.ts'
import type { ErrorDetails } from '../base/errors.ts'
import { createLog } from '../base/log.ts'
import { engineVariables, readSettings, type Settings } from '../base/settings.ts'
import type { DeployedDefinition } from '../definitions/step.ts'
import { type FixtureFile, loadingTimeMs } from './fixture-file.ts'
import type { EndpointTest } from './test-file.ts'

export interface ServiceResponse {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: the shape depends on the request.
  body: any
}

export interface ServiceError extends ErrorDetails {
  code: string
  message: string
}

type Deployment = { error: ServiceError } | { deployed: Record<string, DeployedDefinition[]> }

const limits = { deadlineMs: 60_000 }

/** A service with its own engine and a settable clock. It uses no network and leaves no files. */
export async function openTemporaryService(
  options: Pick<ServiceOptions, 'environment' | 'node' | 'shipped'>,
) {
  const directory = mkdtempSync(join(tmpdir(), 'wellhead-'))
  const remove = () => rmSync(directory, { recursive: true, force: true })
  let now = loadingTimeMs
  try {
    const settings = settingsFor(options.environment, directory)
    const time = systemTime({ now: () => now })
    const log = createLog(settings.logLevel)
    const service = await startService({ ...options, settings, time, log })
    const temporary = new TemporaryService(service, (nowMs) => {
      now = nowMs
    })
    return { temporary, close: () => service.stop().finally(remove) }
  } catch (error) {
    remove()
    throw error
  }
}

export class TemporaryService {
  readonly #service: Pick<Service, 'http' | 'engine' | 'adminToken'>
  readonly #setTime: (nowMs: number) => void

  constructor(service: Pick<Service, 'http' | 'engine' | 'adminToken'>, setTime: (nowMs: number) => void) {
    this.#service = service
    this.#setTime = setTime
  }

  /** The error of a deployment, or what it did, by kind. */
  async deploy(content: object): Promise<Deployment> {
    const { status, body } = await this.#request('POST', '/api/deployments', content)
    if (status >= 500) throw new Error(`The engine does not respond: ${body.error.message}`)
    return status < 300 ? { deployed: body } : { error: body.error }
  }

  /** Replaces the entries of sources by those of the files. They do not expire. */
  async load(files: readonly FixtureFile[]): Promise<void> {
    const lines = new Map<string, Buffer[]>()
    for (const file of files) {
      const path = `/api/sources/${encodeURIComponent(file.source)}`
      const { name: table } = (await this.#request('GET', path)).body
      lines.set(table, [...(lines.get(table) ?? []), ...file.lines])
    }
    // Bypasses the intake, which rejects entries that are older than the retention of their source.
    const settings = { max_partitions_per_insert_block: 0 }
    for (const [table, rows] of lines) {
      await this.#command(`TRUNCATE TABLE \`${table}\``)
      await this.#command(`ALTER TABLE \`${table}\` REMOVE TTL`)
      const target = { table, format: 'JSONEachRow', settings } as const
      await this.#service.engine.insert(target, Buffer.concat(rows), limits)
    }
  }

  async putRows(folder: string, name: string, content: Buffer): Promise<void> {
    const path = `/api/${folder}/${encodeURIComponent(name)}/rows`
    const { status, body } = await this.#request('PUT', path, content)
    if (status !== 200) throw new Error(`Cannot store the rows of ${name}: ${body.error.message}`)
  }

  /** Sends the request of a test at the time that the test sets. */
  async call(test: EndpointTest): Promise<ServiceResponse> {
    const token = test.token && (await this.#tokenFor(test.token))
    const path = `/api/endpoints/query/${encodeURIComponent(test.endpoint)}`
    return this.#request('POST', path, test.parameters, { nowMs: test.nowMs, token })
  }

  async #tokenFor(fields: object): Promise<string> {
    const content = { scopes: ['query'], ...fields }
    const { status, body } = await this.#request('POST', '/api/access-tokens', content)
    if (status !== 201) throw new Error(`Cannot create a token: ${body.error.message}`)
    return body.token
  }

  async #request(
    method: 'GET' | 'POST' | 'PUT',
    url: string,
    body?: object,
    { nowMs = loadingTimeMs, token }: { nowMs?: number; token?: string | undefined } = {},
  ): Promise<ServiceResponse> {
    this.#setTime(nowMs)
    const headers = {
      'x-api-key': token ?? this.#service.adminToken.token,
      ...(body instanceof Buffer && { 'content-type': 'text/csv' }),
    }
    const response = await this.#service.http.inject({ method, url, headers, ...(body && { payload: body }) })
    return { status: response.statusCode, body: JSON.parse(response.payload) }
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
