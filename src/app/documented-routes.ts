import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { systemTime } from '../core/base/clock.ts'
import { createLog } from '../core/base/log.ts'
import { readSettings } from '../core/base/settings.ts'
import type { DescribedServer } from '../core/http/openapi/document.ts'
import { createHttp } from './create-http.ts'
import { createParts } from './create-parts.ts'
import { createStorage } from './create-storage.ts'
import type { ServiceOptions } from './service-options.ts'

/** Of a service that is not started, so that it writes nothing there. */
export function unstartedOptions(log = createLog('error')): ServiceOptions {
  const reading = readSettings({ WELLHEAD_DATA_DIR: tmpdir() })
  if ('problems' in reading) throw new Error(reading.problems.join('\n'))
  return { settings: reading.settings, log, time: systemTime(), node: process.execPath, environment: {} }
}

/** A service that is not started, for its description. */
export async function describedServer(): Promise<DescribedServer> {
  const options = unstartedOptions()
  const parts = await createParts(options, createStorage(options), randomUUID())
  const { server } = createHttp(options, parts, () => 'starting')
  await server.ready()
  return server
}
