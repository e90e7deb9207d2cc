import { existsSync, lstatSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withDeadline } from '../../base/clock.ts'
import type { Settings } from '../../base/settings.ts'
import { portFile, runtimeDirectoryOf } from '../../engine/embedded/server-config.ts'
import { engineLibraryVersion } from '../../engine/embedded-engine.ts'
import type { CommandIo } from '../command-io.ts'
import { offlineEngine } from '../offline-engine.ts'
import { explainStartProblem } from '../serve/start-problems.ts'
import { type Finding, ok, problem } from './finding.ts'

const pingWithinMs = 5_000

/** Checks ClickHouse's own server from the library of chdb: the one of the running service, or one that is started for it. */
export async function checkEmbedded(
  settings: Settings,
  io: CommandIo,
  isRunning: boolean,
): Promise<Finding[]> {
  const findings = [checkLibraries(settings), checkRuntimeDirectory(settings.dataDir)]
  if (isRunning) return [...findings, await checkEnginePort(settings.dataDir)]
  if (findings.some(({ status }) => status === 'problem')) return findings
  return [...findings, ...(await tryEngine(settings, io))]
}

function checkLibraries({ engineNode }: Settings): Finding {
  const name = 'engine library'
  const versions = `chdb ${engineLibraryVersion()} and ffi-rs`
  if (engineNode !== undefined) return ok(name, `${versions}, loaded by ${engineNode}`)
  const platform = `${process.platform}-${process.arch}`
  const require = createRequire(import.meta.url)
  try {
    require('ffi-rs')
    require('chdb/libchdb').libchdbPath()
    return ok(name, `${versions}, installed for ${platform}`)
  } catch (error) {
    const [line = ''] = (error as Error).message.split('\n')
    const advice =
      'Install Wellhead with its optional dependencies, or use a server: WELLHEAD_CLICKHOUSE_URL.'
    return problem(name, `Not installed for ${platform}: ${line}`, advice)
  }
}

/** It contains the passwords of the server. */
export function checkRuntimeDirectory(dataDir: string): Finding {
  const name = 'engine files'
  const directory = runtimeDirectoryOf(dataDir)
  const stats = lstatSync(directory, { throwIfNoEntry: false })
  if (!stats) return ok(name, `${directory} does not exist yet; the start creates it`)
  const isPrivate = stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & 0o077) === 0
  if (isPrivate) return ok(name, `${directory}, private`)
  const advice = 'Remove it, or set TMPDIR to a directory of this user.'
  return problem(name, `${directory} must belong to this user alone.`, advice)
}

/** Others on this machine can connect to the port, but must not get further. */
async function checkEnginePort(dataDir: string): Promise<Finding> {
  const name = 'engine port'
  const file = join(runtimeDirectoryOf(dataDir), portFile)
  if (!existsSync(file)) return ok(name, 'unknown: the service has another directory for temporary files')
  try {
    const url = `http://127.0.0.1:${readFileSync(file, 'utf8').trim()}`
    const ask = (path: string) =>
      withDeadline(pingWithinMs, undefined, async (signal) => {
        const response = await fetch(url + path, { signal })
        await response.body?.cancel()
        return response
      })
    const [ping, statement] = await Promise.all([ask('/ping'), ask('/?query=SELECT+1')])
    if (!ping.ok) return problem(name, `${url} does not respond to a ping.`, 'Check the log of the service.')
    if (!statement.ok)
      return ok(name, `${url}, on the loopback interface, closed without the key of the service`)
    const advice = 'Stop the service: other users of this machine can read its logs.'
    return problem(name, `${url} accepts statements without the key of the service.`, advice)
  } catch (error) {
    return problem(name, (error as Error).message, 'Check the log of the service.')
  }
}

/** Starts an engine as the service does, in a temporary directory so that the data is not touched. */
async function tryEngine(settings: Settings, io: CommandIo): Promise<Finding[]> {
  const directory = mkdtempSync(join(tmpdir(), 'wellhead-doctor-'))
  const engine = offlineEngine(settings, io, { dataDir: directory })
  try {
    await engine.start()
    const state = engine.state()
    const version = state.kind === 'ready' ? state.engineVersion : ''
    return [
      ok('engine', `ClickHouse ${version}, the embedded server; it starts`),
      await checkEnginePort(directory),
    ]
  } catch (error) {
    const message = explainStartProblem(error, settings) ?? (error as Error).message
    return [problem('engine', message, 'The service needs the engine to start.')]
  } finally {
    await engine.close()
    for (const path of [directory, runtimeDirectoryOf(directory)])
      rmSync(path, { recursive: true, force: true })
  }
}
