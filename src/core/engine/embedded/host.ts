/**
 * The engine process: ClickHouse's own server, which the library of chdb contains. It owns the data directory, and ends with
 * the service.
 */
import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { getPriority, setPriority } from 'node:os'
import { showSourcePositions } from '../../base/source-positions.ts'
import { isLocked, refuseOwner, whenUnlocked } from './directory-lock.ts'
import { recover } from './durability/recover.ts'
import { EngineStartError, type FromHost, type HostOptions } from './host-protocol.ts'
import { storeOf, writeServerConfig } from './server-config.ts'

showSourcePositions()

// Ctrl-C in a terminal reaches every process of the group; this one ends when the service does.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
// Acknowledged rows are on disk, so SIGKILL loses nothing.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))

// Node's own way to end would wait for the server's thread.
process.on('uncaughtException', (error) => {
  console.error(error)
  process.kill(process.pid, 'SIGKILL')
})

const library = 'chdb'
const lookForPortMs = 5
const endsWithinMs = 5_000

type Ffi = typeof import('ffi-rs')

/** Added to the service's nice value, which this process inherits. */
const niceAbove = 10
const lowestPriority = 19

giveWayToService()
/** Begins at once, before the service is ready to send options. */
const opened = openLibrary()

/** The engine uses every core, and the service must still respond to requests that need no engine at once. */
function giveWayToService(): void {
  // On Linux, each thread has its own; those that start later inherit it.
  const threads = existsSync('/proc/self/task') ? readdirSync('/proc/self/task').map(Number) : [process.pid]
  const nice = Math.min(lowestPriority, getPriority() + niceAbove)
  for (const thread of threads) {
    try {
      setPriority(thread, nice)
    } catch {
      // It has ended, or the system does not allow this: the engine works just as well.
    }
  }
}

/** Both packages fail to load where the part for this machine is not installed. */
function openLibrary(): Ffi | Error {
  const require = createRequire(import.meta.url)
  try {
    const ffi = require('ffi-rs') as Ffi
    const { libchdbPath } = require('chdb/libchdb') as { libchdbPath(): string }
    ffi.open({ library, path: libchdbPath() })
    // The engine's own handlers would keep a process that crashed for seconds.
    const off = { retType: ffi.DataType.Void, paramsType: [ffi.DataType.I32], paramsValue: [0] }
    ffi.load({ library, funcName: 'chdb_set_signal_handlers_enabled', ...off })
    return ffi
  } catch (error) {
    return error as Error
  }
}

function report(message: FromHost, then: () => void = () => {}): void {
  if (process.connected) process.send?.(message, undefined, undefined, then)
}

/** Resolves when the server has ended. Its last words are on the standard error output. */
async function runServer({ DataType, load }: Ffi, config: string, statements: string): Promise<void> {
  const args = ['wellhead', '-C', config, '--queries-file', statements]
  await load({
    library,
    funcName: 'chdb_query_cmdline',
    retType: DataType.External,
    paramsType: [DataType.I32, DataType.StringArray],
    paramsValue: [args.length, args],
    // The call lasts as long as the server.
    runInNewThread: true,
  })
}

async function start(options: HostOptions): Promise<void> {
  const { directory } = options
  if (opened instanceof Error) throw new EngineStartError('no-engine', opened.message)
  for (const path of [directory, options.runtimeDirectory]) {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    accessSync(path, constants.W_OK)
  }
  checkOwner(options.runtimeDirectory)
  const status = `${storeOf(directory)}/status`
  if (isLocked(status)) refuseOwner(status)
  // An engine that was killed keeps its lock until its last thread has ended.
  await whenUnlocked(status, endsWithinMs)
  if (isLocked(status)) {
    refuseOwner(status)
    // What another engine is writing would look like damage.
    report({ type: 'repairs-skipped' })
  } else await recover(storeOf(directory))
  const { config, statements, port: portFile } = writeServerConfig(options)
  rmSync(portFile, { force: true })
  const timer = setInterval(() => {
    const port = readPort(portFile)
    if (port === undefined) return
    clearInterval(timer)
    report({ type: 'listening', port })
  }, lookForPortMs)
  await runServer(opened, config, statements)
  refuseOwner(status)
  throw new EngineStartError('ended', 'The server ended.')
}

function readPort(file: string): number | undefined {
  try {
    // The line is complete once it has its end.
    const text = readFileSync(file, 'utf8')
    return text.endsWith('\n') ? Number(text) : undefined
  } catch {
    return undefined
  }
}

/** It may be in the directory for temporary files, where another user could have created it. */
function checkOwner(directory: string): void {
  const { uid, mode } = lstatSync(directory)
  if (uid === process.getuid?.() && (mode & 0o077) === 0) return
  throw new EngineStartError('unwritable', `${directory} must belong to this user alone`)
}

process.once('message', (options: HostOptions) => {
  start(options).catch((error: Error) => {
    const reason = error instanceof EngineStartError ? error.reason : 'other'
    report({ type: 'failed', reason, message: error.message }, () => process.exit(1))
  })
})
