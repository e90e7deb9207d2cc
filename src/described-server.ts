import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { openService } from './app.ts'
import { systemTime } from './core/base/clock.ts'
import { createLog } from './core/base/log.ts'
import { readSettings } from './core/base/settings.ts'
import type { DescribedServer } from './core/http/openapi/document.ts'
import type { ServiceOptions } from './core.ts'
import { loadSettings } from './settings-table.ts'

/** Of a service that is not started, so that it writes nothing there. */
export async function unstartedOptions(log = createLog('error')): Promise<ServiceOptions> {
  const reading = readSettings(await loadSettings(), { WELLHEAD_DATA_DIR: tmpdir() })
  if ('problems' in reading) throw new Error(reading.problems.join('\n'))
  return { settings: reading.settings, log, time: systemTime(), node: process.execPath, environment: {} }
}

/** A service that is not started, for its description. */
export async function describedServer(): Promise<DescribedServer> {
  const { server } = await openService(await unstartedOptions(), randomUUID(), () => 'starting')
  await server.ready()
  return server
}
