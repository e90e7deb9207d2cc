/** A whole service in this process, with an engine in one of its own, on a directory that goes with it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { startService } from '../../build/app.js'
import { systemTime } from '../../build/core/base/clock.js'
import { readSettings } from '../../build/core/base/settings.js'
import { loadSettings } from '../../build/settings-table.js'
import { atTheEnd } from './at-the-end.mjs'

export async function openService({ engineNode, patience, clock, environment = {} }) {
  const scratch = mkdtempSync(join(tmpdir(), 'wellhead-bench-'))
  let service
  const remove = atTheEnd(() => {
    // It would go on writing into what is being removed.
    if (service && service.engine.state().reason !== 'The engine is closed.')
      process.kill(service.engine.pid, 'SIGKILL')
    rmSync(scratch, { recursive: true, force: true, maxRetries: 5 })
  })
  const reading = readSettings(await loadSettings(), {
    WELLHEAD_PORT: '0',
    WELLHEAD_DATA_DIR: join(scratch, 'data'),
    WELLHEAD_ENGINE_PATIENCE: String(patience),
    WELLHEAD_ENGINE_NODE: engineNode,
    ...environment,
  })
  try {
    if ('problems' in reading) throw new Error(reading.problems.join('\n'))
    service = await startService({
      settings: reading.settings,
      time: systemTime(clock),
      log: pino({ level: 'silent' }),
      node: process.execPath,
      environment: { ...process.env, ...environment },
    })
    const close = async () => {
      await service.stop()
      remove()
    }
    return { ...service, close }
  } catch (error) {
    remove()
    throw error
  }
}
