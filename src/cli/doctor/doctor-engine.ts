import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import type { Settings } from '../../base/settings.ts'
import { EmbeddedEngine } from '../../engine/embedded-engine.ts'
import { RemoteEngine } from '../../engine/remote-engine.ts'
import type { CommandIo } from '../command-io.ts'
import { explainStartProblem } from '../start-problems.ts'
import { type Finding, ok, problem } from './doctor-report.ts'

/** Starts an engine as the service would, on a directory of its own, so that nothing of the data is touched. */
export async function checkEngine(settings: Settings, io: CommandIo): Promise<Finding> {
  const directory = mkdtempSync(join(tmpdir(), 'wellhead-doctor-'))
  const log = pino({ level: 'silent' })
  const { clickhouseUrl } = settings
  const engine =
    clickhouseUrl === undefined
      ? new EmbeddedEngine({
          dataDir: directory,
          memoryBytes: settings.engineMemory,
          patience: settings.enginePatience,
          node: settings.engineNode ?? io.node,
          environment: io.environment,
          clock: io.clock,
          log,
        })
      : new RemoteEngine({
          url: clickhouseUrl,
          user: settings.clickhouseUser,
          password: settings.clickhousePassword,
          cluster: settings.clickhouseCluster,
          log,
        })
  try {
    await engine.start()
    const state = engine.state()
    const version = state.kind === 'ready' ? state.engineVersion : ''
    return ok(
      'engine',
      `${version}, ${clickhouseUrl === undefined ? 'starts' : 'a ClickHouse server, answers'}`,
    )
  } catch (error) {
    const words = explainStartProblem(error, settings) ?? (error as Error).message
    return problem('engine', words, 'The service cannot start until it does.')
  } finally {
    await engine.close()
    rmSync(directory, { recursive: true, force: true })
  }
}
