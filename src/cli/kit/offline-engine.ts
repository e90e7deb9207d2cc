import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLog } from '../../core/base/log.ts'
import type { Settings } from '../../core/base/settings.ts'
import { runtimeDirectoryOf } from '../../core/engine/embedded/server-config.ts'
import { EmbeddedEngine } from '../../core/engine/embedded-engine.ts'
import { CommandFailure, type CommandIo } from './command-io.ts'
import { explainStartProblem } from './start-problems.ts'

interface OfflineChoices {
  /** Data that the engine reads without merging or expiring any of it. By default, it starts in a temporary directory. */
  dataDir?: string | undefined
  grants?: readonly string[]
  /** What to do if the engine does not start. */
  advice?: string
}

/** Runs work with a silent engine that has the service's settings, for commands that run without a service. */
export async function withOfflineEngine<T>(
  settings: Settings,
  io: CommandIo,
  { dataDir, grants = [], advice }: OfflineChoices,
  work: (engine: EmbeddedEngine) => Promise<T>,
): Promise<T> {
  const directory = dataDir ?? mkdtempSync(join(tmpdir(), 'wellhead-'))
  const engine = new EmbeddedEngine({
    dataDir: directory,
    memoryBytes: settings.engineMemory,
    patience: settings.engineTimeoutFactor,
    node: settings.engineNode ?? io.node,
    environment: io.environment,
    clock: io.clock,
    log: createLog('silent'),
    atRest: dataDir !== undefined,
    grants,
  })
  try {
    await startEngine(engine, settings, advice)
    return await work(engine)
  } finally {
    await engine.close()
    for (const path of dataDir === undefined ? [directory, runtimeDirectoryOf(directory)] : []) {
      rmSync(path, { recursive: true, force: true })
    }
  }
}

/** Starts an engine; the failure of the command says why that is impossible. */
export async function startEngine(
  engine: Pick<EmbeddedEngine, 'start'>,
  settings: Settings,
  advice = '',
): Promise<void> {
  await engine.start().catch((error) => {
    const text = explainStartProblem(error, settings) ?? (error as Error).message
    throw new CommandFailure(`${text}${advice}`, undefined, { cause: error })
  })
}
