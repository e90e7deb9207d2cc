import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Settings } from '../../base/settings.ts'
import type { CommandIo } from '../command-io.ts'
import { offlineEngine } from '../offline-engine.ts'
import { explainStartProblem } from '../serve/start-problems.ts'
import { type Finding, ok, problem } from './doctor-report.ts'

/** Starts an engine as the service does, in a temporary directory so that the data is not touched. */
export async function checkEngine(settings: Settings, io: CommandIo): Promise<Finding> {
  const directory = mkdtempSync(join(tmpdir(), 'wellhead-doctor-'))
  const engine = offlineEngine(settings, io, { dataDir: directory })
  try {
    await engine.start()
    const state = engine.state()
    return ok('engine', `${state.kind === 'ready' ? state.engineVersion : ''}, starts`)
  } catch (error) {
    const message = explainStartProblem(error, settings) ?? (error as Error).message
    return problem('engine', message, 'The service needs the engine to start.')
  } finally {
    await engine.close()
    rmSync(directory, { recursive: true, force: true })
  }
}
