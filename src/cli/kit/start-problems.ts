import { OperatorError } from '../../core/base/operator-error.ts'
import { serverAddresses } from '../../core/base/server-addresses.ts'
import type { Settings } from '../../core/base/settings.ts'
import { explainServerError, type ServerIdentity } from '../../core/engine/cluster/server-problem.ts'
import { EngineStartError } from '../../core/engine/embedded/host-protocol.ts'

/** A line that says what is wrong and what to do; undefined for unexpected errors. */
export function explainStartProblem(error: unknown, settings: Settings): string | undefined {
  if (error instanceof OperatorError) return error.message
  if (error instanceof EngineStartError) return explainEngine(error, settings)
  const { code, syscall, path, message } = error as NodeJS.ErrnoException
  const { dataDir, host, port } = settings
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} is already in use. Choose another with --port.`
    case 'EACCES':
      if (syscall !== 'listen') return path?.startsWith(dataDir) ? cannotWrite(dataDir, message) : undefined
      return `No permission to listen on ${host}:${port}. Choose a port above 1023 with --port.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is not an address of this machine. Choose another with --host.`
    default: {
      const server = serverIdentity(settings)
      return server && explainServerError(error, server)?.message
    }
  }
}

/** Undefined without a ClickHouse server. */
function serverIdentity(settings: Settings): ServerIdentity | undefined {
  if (settings.clickhouseUrl === undefined) return undefined
  const [{ url, user }] = serverAddresses(settings.clickhouseUrl, { user: settings.clickhouseUser })
  return { url, user, database: settings.clickhouseDatabase, cluster: settings.clickhouseCluster }
}

function explainEngine({ reason, message }: EngineStartError, { dataDir }: Settings): string {
  switch (reason) {
    case 'in-use':
      return `Another process uses the data directory ${dataDir}. Stop it, or choose another directory with --data-dir.`
    case 'unwritable':
      return cannotWrite(dataDir, message)
    case 'no-engine':
      return `${explainMissingEngine(message)}, or use a ClickHouse server with WELLHEAD_CLICKHOUSE_URL.`
    case 'ended':
    case 'other':
      if (/permission denied|read-only file system|no space left/i.test(message))
        return cannotWrite(dataDir, message)
      return `The embedded engine cannot start: ${message}`
  }
}

/** What is wrong and what to do, without the period. */
export function explainMissingEngine(message: string): string {
  return `This machine has no embedded engine: ${message.split('\n')[0]?.replace(/\.?$/, '.')} Install Wellhead with npm or pnpm, including optional dependencies`
}

function cannotWrite(dataDir: string, message: string): string {
  return `Cannot write to the data directory ${dataDir}: ${message}. Change its permissions, free space on its disk, or choose another with --data-dir.`
}
