import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLog } from '../../base/log.ts'
import type { Settings } from '../../base/settings.ts'
import { serverEngine } from '../../catalog/cluster-engine.ts'
import type { CommandIo } from '../command-io.ts'
import { offlineEngine } from '../offline-engine.ts'
import { explainStartProblem } from '../serve/start-problems.ts'
import { type Finding, ok, problem } from './doctor-report.ts'

/** Starts an engine as the service does, in a temporary directory so that the data is not touched. */
export async function checkEngine(settings: Settings, io: CommandIo): Promise<Finding> {
  const directory = mkdtempSync(join(tmpdir(), 'wellhead-doctor-'))
  const { clickhouseUrl: url } = settings
  const engine =
    url === undefined
      ? offlineEngine(settings, io, { dataDir: directory })
      : serverEngine(settings, url, { log: createLog('silent') })
  try {
    await engine.start()
    const state = engine.state()
    const version = state.kind === 'ready' ? state.engineVersion : ''
    return ok('engine', `${version}, ${url === undefined ? 'starts' : 'ClickHouse server responds'}`)
  } catch (error) {
    const message = explainStartProblem(error, settings) ?? (error as Error).message
    return problem('engine', message, 'The service needs the engine to start.')
  } finally {
    await engine.close()
    rmSync(directory, { recursive: true, force: true })
  }
}
