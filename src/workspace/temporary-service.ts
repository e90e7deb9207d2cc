import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Service, startService } from '../app.ts'
import { systemTime } from '../core/base/clock.ts'
import type { ErrorBody } from '../core/base/errors.ts'
import { grouped } from '../core/base/grouped.ts'
import { createLog } from '../core/base/log.ts'
import { engineVariables, readSettings, type Settings } from '../core/base/settings.ts'
import type { DeployedDefinition } from '../core/definitions/step.ts'
import type { ServiceOptions } from '../core.ts'
import { loadSettings } from '../settings-table.ts'
import { type FixtureFile, loadingTimeMs } from './fixture-file.ts'
import type { EndpointTest } from './test-file.ts'

export interface ServiceResponse {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: the shape depends on the request.
  body: any
}

type Deployment = { error: ErrorBody } | { deployed: Record<string, DeployedDefinition[]> }

const limits = { deadlineMs: 60_000 }

/** A service with its own engine and a settable clock. It uses no network and leaves no files. */
export async function openTemporaryService(
  options: Pick<ServiceOptions, 'environment' | 'node' | 'shipped'>,
): Promise<{ temporary: TemporaryService; close: () => Promise<void> }> {
  const directory = mkdtempSync(join(tmpdir(), 'wellhead-'))
  const remove = () => rmSync(directory, { recursive: true, force: true })
  let now = loadingTimeMs
  try {
    const settings = await settingsFor(options.environment, directory)
    const time = systemTime({ now: () => now })
    const log = createLog(settings.logLevel)
    const service = await startService({ ...options, settings, time, log })
    const temporary = temporaryService(service, (nowMs) => {
      now = nowMs
    })
    return { temporary, close: () => service.stop().finally(remove) }
  } catch (error) {
    remove()
    throw error
  }
}

export type TemporaryService = ReturnType<typeof temporaryService>

/** What tests of a workspace need of a service. */
export function temporaryService(
  { http, engine, adminToken }: Pick<Service, 'http' | 'engine' | 'adminToken'>,
  setTime: (nowMs: number) => void,
) {
  async function request(
    method: 'GET' | 'POST' | 'PUT',
    url: string,
    body?: object,
    { nowMs = loadingTimeMs, token = adminToken.token }: { nowMs?: number; token?: string | undefined } = {},
  ): Promise<ServiceResponse> {
    setTime(nowMs)
    const headers = { 'x-api-key': token, ...(body instanceof Buffer && { 'content-type': 'text/csv' }) }
    const response = await http.inject({ method, url, headers, ...(body && { payload: body }) })
    return { status: response.statusCode, body: JSON.parse(response.payload) }
  }

  async function tokenFor(fields: object): Promise<string> {
    const { status, body } = await request('POST', '/api/access-tokens', { scopes: ['query'], ...fields })
    if (status !== 201) throw new Error(`Cannot create a token: ${body.error.message}`)
    return body.token
  }

  return {
    /** The error of a deployment, or what it did, by kind. */
    async deploy(content: object): Promise<Deployment> {
      const { status, body } = await request('POST', '/api/deployments', content)
      if (status >= 500) throw new Error(`The engine does not respond: ${body.error.message}`)
      return status < 300 ? { deployed: body } : { error: body.error }
    },
    /** Replaces the entries of sources by those of the files. They do not expire. */
    async load(files: readonly FixtureFile[]): Promise<void> {
      // Bypasses the intake, which rejects entries that are older than the retention of their source.
      const settings = { max_partitions_per_insert_block: 0 }
      const found: { table: string; lines: readonly Buffer[] }[] = []
      for (const { source, lines } of files) {
        const { body } = await request('GET', `/api/sources/${encodeURIComponent(source)}`)
        found.push({ table: body.name, lines })
      }
      for (const [table, own] of grouped(found, (one) => one.table)) {
        await engine.command({ sql: `TRUNCATE TABLE \`${table}\`` }, limits)
        await engine.command({ sql: `ALTER TABLE \`${table}\` REMOVE TTL` }, limits)
        const target = { table, format: 'JSONEachRow', settings } as const
        await engine.insert(target, Buffer.concat(own.flatMap(({ lines }) => lines)), limits)
      }
    },
    async putRows(folder: string, name: string, content: Buffer): Promise<void> {
      const path = `/api/${folder}/${encodeURIComponent(name)}/rows`
      const { status, body } = await request('PUT', path, content)
      if (status !== 200) throw new Error(`Cannot store the rows of ${name}: ${body.error.message}`)
    },
    /** Sends the request of a test at the time that the test sets. */
    async call({ endpoint, parameters, nowMs, token }: EndpointTest): Promise<ServiceResponse> {
      const path = `/api/endpoints/query/${encodeURIComponent(endpoint)}`
      return request('POST', path, parameters, { nowMs, token: token && (await tokenFor(token)) })
    },
  }
}

async function settingsFor(environment: ServiceOptions['environment'], directory: string): Promise<Settings> {
  const reading = readSettings(await loadSettings(), {
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
