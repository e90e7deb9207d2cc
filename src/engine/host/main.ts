/**
 * The engine process. It owns the data directory, answers queries on its socket, and does what the service
 * says over the channel between them. Without the service it ends.
 */
import { accessSync, constants, lstatSync, mkdirSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { dirname } from 'node:path'
import { isLocked, ownerOf } from './directory-lock.ts'
import { setEmptyPartsAside } from './durability/empty-parts.ts'
import { forgetLostInserts } from './durability/lost-inserts.ts'
import { markInsertLogsSynced, setUnansweredInsertsAside } from './durability/unanswered-inserts.ts'
import { writeEngineConfig } from './engine-config.ts'
import { createHostServer } from './host-server.ts'
import type { FromHost, HostOptions, StartFailure, ToHost } from './protocol.ts'
import { QueryRunner } from './query-runner.ts'
import { checkDurability, checkSession } from './read-back.ts'

// Ctrl-C in a terminal reaches every process of the group; this one waits for the service's word.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
// Rows that the service acknowledged are on disk, so the hardest end loses nothing and leaves no orphan.
process.on('disconnect', die)

function die(): never {
  process.kill(process.pid, 'SIGKILL')
  throw new Error('unreachable')
}

function say(message: FromHost): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {})
}

class StartError extends Error {
  readonly reason: StartFailure
  constructor(reason: StartFailure, message: string) {
    super(message)
    this.reason = reason
  }
}

async function loadSessions(directory: string, database: string, connectionArgs: string[]) {
  const { EngineSession } = await import('./session.ts').catch((error: Error) => {
    throw new StartError('no-engine', error.message)
  })
  return async () => {
    const session = new EngineSession(directory, connectionArgs)
    try {
      await checkSession(session)
      await session.run(`CREATE DATABASE IF NOT EXISTS ${database}`, 'Null')
      await session.run(`USE ${database}`, 'Null')
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
    throw new StartError('unwritable', (error as Error).message)
  }
}

interface RunningHost {
  stop(withinMs: number): Promise<void>
}

async function start(options: HostOptions): Promise<RunningHost> {
  prepareDirectory(options.directory)
  const store = `${options.directory}/store`
  if (isLocked(`${store}/status`)) {
    // What another engine is writing would look like damage.
    say({ type: 'repairs-skipped' })
  } else {
    setEmptyPartsAside(store)
    forgetLostInserts(store)
    setUnansweredInsertsAside(store)
  }
  const open = await loadSessions(
    store,
    options.database,
    writeEngineConfig(options.directory, options.memoryBytes, options.atRest),
  )
  // Kept until the end: with its last session the engine itself closes, and opens again with the next.
  const control = await open()
  await checkDurability(control)
  markInsertLogsSynced(store)
  const { bytes } = await control.run('SELECT version()', 'TabSeparated')
  const engineVersion = Buffer.from(bytes).toString().trim()
  const runner = new QueryRunner({
    control,
    open,
    sessions: options.sessions,
    maxWaiting: options.maxWaiting,
    graceMs: options.graceMs,
    giveUp: (queryId) => {
      // Said before it ends, so that the service knows which query it was.
      process.send?.({ type: 'giving-up', queryId } satisfies FromHost, undefined, undefined, die)
    },
    startOver: (reason) => {
      process.send?.({ type: 'starting-over', reason } satisfies FromHost, undefined, undefined, die)
    },
  })
  const { listen } = options
  const server = createHostServer(runner, listen)
  if ('socketPath' in listen) {
    mkdirSync(dirname(listen.socketPath), { recursive: true, mode: 0o700 })
    checkOwner(dirname(listen.socketPath))
    rmSync(listen.socketPath, { force: true })
    process.umask(0o077)
  }
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    if ('socketPath' in listen) server.listen(listen.socketPath, resolve)
    else server.listen(listen.port, '127.0.0.1', resolve)
  })
  const port = 'port' in listen ? (server.address() as AddressInfo).port : undefined
  say({ type: 'ready', engineVersion, port })
  return {
    stop: async (withinMs) => {
      server.close()
      await runner.stop(withinMs)
    },
  }
}

/** Where temporary files are kept, somebody else may have made the directory before. */
function checkOwner(directory: string): void {
  const { uid, mode } = lstatSync(directory)
  if (uid === process.getuid?.() && (mode & 0o077) === 0) return
  throw new StartError('unwritable', `${directory} must belong to this user alone`)
}

function explain(error: unknown, directory: string): { reason: StartFailure; message: string } {
  if (error instanceof StartError) return { reason: error.reason, message: error.message }
  const message = error instanceof Error ? error.message : String(error)
  // The binding does not say why it cannot open a directory, but the engine leaves its owner's id there.
  const owner = ownerOf(`${directory}/store/status`)
  if (owner !== undefined) return { reason: 'in-use', message: `Process ${owner} has it open.` }
  if (/permission denied|read-only file system|no space left/i.test(message))
    return { reason: 'unwritable', message }
  return { reason: 'other', message }
}

let host: RunningHost | undefined

process.on('message', (message: ToHost) => {
  switch (message.type) {
    case 'start':
      start(message.options).then(
        (started) => {
          host = started
        },
        (error) => {
          say({ type: 'failed', ...explain(error, message.options.directory) })
          setImmediate(() => process.exit(1))
        },
      )
      break
    case 'ping':
      say({ type: 'pong', id: message.id })
      break
    case 'stop':
      void (host?.stop(message.withinMs) ?? Promise.resolve()).finally(() => process.exit(0))
      break
  }
})
