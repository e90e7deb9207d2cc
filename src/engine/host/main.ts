/** The engine process. It owns the data directory, runs queries sent to its socket, and ends with the service. */
import { accessSync, constants, lstatSync, mkdirSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { showSourcePositions } from '../../base/source-positions.ts'
import { isLocked, ownerOf } from './directory-lock.ts'
import { recover } from './durability/recover.ts'
import { checkDurability, checkSession, writeEngineConfig } from './engine-config.ts'
import { createHostServer } from './host-server.ts'
import {
  EngineStartError,
  type FromHost,
  type HostOptions,
  type StartFailure,
  type ToHost,
} from './protocol.ts'
import { QueryRunner } from './query-runner.ts'
import { EngineSession } from './session.ts'

showSourcePositions()

// Ctrl-C in a terminal reaches every process of the group; this one waits until the service stops it.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
// Acknowledged rows are on disk, so SIGKILL loses nothing.
process.on('disconnect', die)

function die(): never {
  process.kill(process.pid, 'SIGKILL')
  throw new Error('unreachable')
}

function report(message: FromHost, then: () => void = () => {}): void {
  if (process.connected) process.send?.(message, undefined, undefined, then)
}

/** Begins at once, before the service is ready to send options. */
const library = import('chdb').catch((error: Error) => error)

async function loadSessions(directory: string, database: string, connectionArgs: string[]) {
  const loaded = await library
  if (loaded instanceof Error) throw new EngineStartError('no-engine', loaded.message)
  let hasDatabase = false
  return async () => {
    const session = new EngineSession(new loaded.Session(directory, { connectionArgs }))
    try {
      await checkSession(session)
      if (!hasDatabase) await session.run(`CREATE DATABASE IF NOT EXISTS ${database}`, 'Null')
      hasDatabase = true
      await session.use(database)
      return session
    } catch (error) {
      void session.close()
      throw error
    }
  }
}

function prepareDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    accessSync(directory, constants.W_OK)
  } catch (error) {
    throw new EngineStartError('unwritable', (error as Error).message)
  }
}

type Stop = (withinMs: number) => Promise<void>

async function start(options: HostOptions): Promise<Stop> {
  const { directory, socketPath } = options
  prepareDirectory(directory)
  const store = `${directory}/store`
  // What another engine is writing would look like damage.
  if (isLocked(`${store}/status`)) report({ type: 'repairs-skipped' })
  else await recover(store)
  const connectionArgs = writeEngineConfig(directory, options)
  const open = await loadSessions(store, options.database, connectionArgs)
  // Never closed: the engine closes with its last session, and would open again for the next query.
  const control = await open()
  await checkDurability(control)
  const { bytes } = await control.run('SELECT version()', 'TabSeparated')
  const engineVersion = Buffer.from(bytes).toString().trim()
  const runner = new QueryRunner({
    ...options,
    control,
    open,
    giveUp: (queryId) => report({ type: 'giving-up', queryId }, die),
    restart: (reason) => report({ type: 'restarting', reason }, die),
  })
  const server = createHostServer(runner)
  mkdirSync(dirname(socketPath), { recursive: true, mode: 0o700 })
  checkOwner(dirname(socketPath))
  rmSync(socketPath, { force: true })
  process.umask(0o077)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(socketPath, resolve)
  })
  report({ type: 'ready', engineVersion })
  return async (withinMs) => {
    server.close()
    await runner.stop(withinMs)
  }
}

/** The socket may be in the directory for temporary files, where another user could have created its folder. */
function checkOwner(directory: string): void {
  const { uid, mode } = lstatSync(directory)
  if (uid === process.getuid?.() && (mode & 0o077) === 0) return
  throw new EngineStartError('unwritable', `${directory} must belong to this user alone`)
}

function explain(error: unknown, directory: string): { reason: StartFailure; message: string } {
  if (error instanceof EngineStartError) return { reason: error.reason, message: error.message }
  const message = error instanceof Error ? error.message : String(error)
  // The binding does not say why it cannot open a directory.
  const owner = ownerOf(`${directory}/store/status`)
  if (owner !== undefined) return { reason: 'in-use', message: `Process ${owner} has it open.` }
  const isUnwritable = /permission denied|read-only file system|no space left/i.test(message)
  return { reason: isUnwritable ? 'unwritable' : 'other', message }
}

let stop: Stop | undefined

process.on('message', (message: ToHost) => {
  switch (message.type) {
    case 'start':
      start(message.options).then(
        (stopHost) => {
          stop = stopHost
        },
        (error) => {
          report({ type: 'failed', ...explain(error, message.options.directory) })
          setImmediate(() => process.exit(1))
        },
      )
      break
    case 'ping':
      report({ type: 'pong', id: message.id })
      break
    case 'stop':
      // The engine's own end takes up to two seconds, and what is acknowledged is on disk without it.
      void (stop?.(message.withinMs) ?? Promise.resolve()).finally(die)
      break
  }
})
